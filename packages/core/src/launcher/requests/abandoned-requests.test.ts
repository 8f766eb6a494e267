import { newRequest, requestLockPath, type LauncherId, type RequestId } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import type { Provider } from '../../contract/driver.js';
import { RequestHandler } from './handler.js';
import type { HandlerPool } from './handler-pool.js';
import { poolConfig } from '../../../test/support/pool-config.js';
import { ServiceWorld } from '../../../test/support/service-world.js';
import { AbandonedRequests } from './abandoned-requests.js';

const pool: HandlerPool = {
  launcherId: 'me' as LauncherId,
  providerName: 'p',
  pool: poolConfig('main', ['a']),
  runningProvider: {} as Provider,
  pausesAtQuota: true,
  isLastToDecline: () => Promise.resolve(false),
  unlockLater: () => undefined,
  needOf: () => ({}),
  pauseChanged() {},
  standsInTheWay: () => false,
  handOver: () => undefined,
  planLaunch: () => {
    throw new Error('the request is never worked on');
  },
};

async function abandonedRequest() {
  const world = await ServiceWorld.open();
  const request = { ...newRequest({ labels: ['a'] }, world.clock.now()), id: '200-0000000001' as RequestId };
  const handler = new RequestHandler(world.services, pool, request, { imagesAvailable: () => true });
  const root = requestLockPath(request.id);
  const recovered: RequestId[] = [];
  const abandoned = new AbandonedRequests(world.services, {
    signal: new AbortController().signal,
    isOurs: () => false,
    reset: () => Promise.resolve(),
    recovered: (id) => recovered.push(id),
  });
  const lock = async () => {
    await world.clock.run(world.zk.ensurePath(root));
    await world.clock.run(world.zk.create(`${root}/`, '', { ephemeral: true, sequential: true }));
  };
  const recover = async () => {
    abandoned.recover(request.id, handler.epoch);
    const wasRecovering = abandoned.isRecovering(request.id);
    await world.pass(10_000);
    return { wasRecovering, recovered, isRecovering: abandoned.isRecovering(request.id) };
  };
  const countEntries = async () => (await world.clock.run(world.other.getChildren(root))).length;
  return { world, request, lock, recover, countEntries };
}

it('removes the lock that a handler left behind, and says when that is done', async () => {
  const { request, lock, recover, countEntries } = await abandonedRequest();
  await lock();

  expect(await recover()).toEqual({ wasRecovering: true, recovered: [request.id], isRecovering: false });
  expect(await countEntries()).toBe(0);
});

it('leaves the lock alone with which a new session has taken the request up again', async () => {
  const { world, lock, recover, countEntries } = await abandonedRequest();
  world.loseSession();
  await world.pass(50);
  await world.clock.run(world.zk.whenConnected());
  await lock();

  expect(await recover()).toMatchObject({ isRecovering: false });
  expect(await countEntries()).toBe(1);
});
