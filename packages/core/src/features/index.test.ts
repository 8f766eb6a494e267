import { encodeNode, encodeRequest, newRequest, nodePath, REQUESTS_ROOT, withNode } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { pooledConfig, RackWorld } from '../../test/support/rack-world.js';
import { FEATURES } from './index.js';

it.each([...Object.keys(FEATURES), 'nothing'])('a launcher lends and deletes nodes without %s', async (name) => {
  const world = new RackWorld();
  await world.createNodes([{}]);
  const { [name]: _left, ...features } = FEATURES;
  const launcher = world.launcher(pooledConfig, undefined, features);
  await world.clock.run(launcher.start());
  await world.settle();

  const body = encodeRequest(newRequest({ labels: ['a'], requestor: 'zuul' }, world.clock.now()));
  await world.clock.run(world.zk.create(`${REQUESTS_ROOT}/200-`, body, { sequential: true }));
  await world.settle();
  const [request] = [...launcher.requests.values()];
  const lent = launcher.nodes.get(request?.nodeIds[0] ?? '') ?? expect.fail('no node is lent');
  const used = withNode(lent, { state: 'used', allocatedTo: null }, world.clock.now());
  await world.clock.run(world.zk.setData(nodePath(lent.id), encodeNode(used)));
  await world.settle();

  expect(request?.state).toBe('fulfilled');
  expect(launcher.nodes.get(lent.id)).toBeUndefined();
});
