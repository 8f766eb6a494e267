import { newRequest, type RequestId, type RequestRecord } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { PoolDemand, type RequestAtWork } from './pool-demand.js';

const [A, B] = ['200-0000000001', '200-0000000002'] as [RequestId, RequestId];

function requestOf(id: RequestId): RequestRecord {
  return { ...newRequest({ labels: ['a'] }, 0), id };
}

/** A request at work, which waits for a node of these labels. */
function atWork(id: RequestId, ...missing: string[]): RequestAtWork {
  const request = requestOf(id);
  return { request, paused: missing.length > 0 ? { request, missing, az: null } : undefined, acceptsNode: () => true };
}

it('a pool has requests that wait for it and those that it works on', () => {
  const demand = new PoolDemand(new VirtualClock());
  demand.waiting.put(requestOf(A));
  demand.atWork.set(B, atWork(B));

  expect([A, B, '200-0000000003' as RequestId].map((id) => demand.has(id))).toEqual([true, true, false]);
});

it('there is demand while a request waits for the pool, or for capacity in it', () => {
  const demand = new PoolDemand(new VirtualClock());
  demand.atWork.set(B, atWork(B));
  demand.countPaused();
  const none = demand.isSome;

  demand.atWork.set(B, atWork(B, 'a'));
  const paused = demand.countPaused();
  const some = demand.isSome;
  demand.atWork.delete(B);
  demand.countPaused();
  const gone = demand.isSome;
  demand.waiting.put(requestOf(A));

  expect([none, some, gone, demand.isSome]).toEqual([false, true, false, true]);
  expect(paused).toMatchObject([{ request: { id: B }, missing: ['a'] }]);
});

it('requests that wait for capacity are counted when told to', () => {
  const demand = new PoolDemand(new VirtualClock());
  demand.atWork.set(A, atWork(A, 'a'));

  expect([demand.paused().length, demand.pausedCount]).toEqual([1, 0]);
  demand.countPaused();
  expect(demand.pausedCount).toBe(1);
});
