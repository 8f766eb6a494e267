import {
  encodeNode,
  encodeRequest,
  newRequest,
  nodePath,
  REQUESTS_ROOT,
  withNode,
  type RequestFields,
  type RequestId,
} from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { pooledConfig, RackWorld } from '../../test/support/rack-world.js';
import type { LaunchOrder, LaunchResult } from '../contract/driver.js';
import { silentLogger } from '../contract/logger.js';
import { FEATURES } from './index.js';

async function submit({ zk, clock }: RackWorld, fields: Partial<RequestFields> = {}): Promise<RequestId> {
  const body = encodeRequest(newRequest({ labels: ['a'], requestor: 'zuul', ...fields }, clock.now()));
  const path = await clock.run(zk.create(`${REQUESTS_ROOT}/200-`, body, { sequential: true }));
  return path.slice(REQUESTS_ROOT.length + 1) as RequestId;
}

it.each([...Object.keys(FEATURES), 'nothing'])('a launcher lends and deletes nodes without %s', async (name) => {
  const world = new RackWorld();
  await world.createNodes([{}]);
  const { [name]: _left, ...features } = FEATURES;
  const launcher = world.launcher(pooledConfig, undefined, features);
  await world.clock.run(launcher.start());
  await world.settle();

  await submit(world);
  await world.settle();
  const [request] = [...launcher.requests.values()];
  const lent = launcher.nodes.get(request?.nodeIds[0] ?? '') ?? expect.fail('no node is lent');
  const used = withNode(lent, { state: 'used', allocatedTo: null }, world.clock.now());
  await world.clock.run(world.zk.setData(nodePath(lent.id), encodeNode(used)));
  await world.settle();

  expect(request?.state).toBe('fulfilled');
  expect(launcher.nodes.get(lent.id)).toBeUndefined();
});

it('a launcher without resumed-launches resets a lost request, and deletes its unfinished node', async () => {
  const orders: LaunchOrder[] = [];
  const launch = async (order: LaunchOrder): Promise<LaunchResult> => {
    orders.push(order);
    return { state: 'ready', node: await order.store({ state: 'ready' }) };
  };
  const getRequestHandler = () => ({ imagesAvailable: () => true, launch });
  const world = new RackWorld({ getRequestHandler }, silentLogger, true);
  await world.clock.run(world.zk.ensurePath(REQUESTS_ROOT));
  const request = await submit(world, { state: 'pending' });
  await world.createNodes([{ state: 'building', allocatedTo: request, launchState: {} }]);
  const { 'resumed-launches': _left, ...features } = FEATURES;
  const launcher = world.launcher(pooledConfig, undefined, features);

  await world.clock.run(launcher.start());
  await world.settle(100);

  expect(launcher.nodes.get('0000000000')).toBeUndefined();
  expect(orders).toMatchObject([{ node: { allocatedTo: request, launchState: {} } }]);
  expect(launcher.requests.get(request)).toMatchObject({ state: 'fulfilled', nodeIds: [orders[0]?.node.id] });
});
