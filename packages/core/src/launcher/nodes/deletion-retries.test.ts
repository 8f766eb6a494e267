import type { NodeId } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { QuotaError } from '../../contract/errors.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { DeletionRetries } from './deletion-retries.js';

const ID = '0000000001' as NodeId;

function setUp() {
  const clock = new VirtualClock();
  const retries = new DeletionRetries({ clock, random: () => 0.5 });
  const dueMs: number[] = [];
  retries.onDue(() => dueMs.push(clock.now()));
  return { clock, retries, dueMs };
}

it('tries again after pauses that grow to five minutes', async () => {
  const { clock, retries, dueMs } = setUp();
  const pausesMs: number[] = [];

  for (let i = 0; i < 12; i++) {
    const startMs = clock.now();
    retries.retryLater(ID, new Error('no answer'));
    await clock.advance(300_000);
    pausesMs.push((dueMs[i] ?? Infinity) - startMs);
  }

  expect(pausesMs[0]).toBeLessThanOrEqual(1_000);
  expect(pausesMs).toEqual([...pausesMs].sort((a, b) => a - b));
  expect(pausesMs.at(-1)).toBeGreaterThan(200_000);
  expect(retries.failing()).toMatchObject([{ nodeId: ID, attempts: 12, error: 'no answer' }]);
});

it('names what failed, and not what was only interrupted', () => {
  const { clock, retries } = setUp();

  retries.retryLater(ID, undefined);
  const interrupted = retries.failing();
  retries.retryLater(ID, new QuotaError('no room'));

  expect(interrupted).toEqual([]);
  expect(retries.failing()).toMatchObject([{ error: 'no room', failedMs: clock.now(), attempts: 2 }]);
});

it('pauses until the next try is due', async () => {
  const { clock, retries, dueMs } = setUp();

  retries.retryLater(ID, undefined);
  const pauses = retries.isPausing(ID);
  await clock.advance(1_000);

  expect([pauses, retries.isPausing(ID), dueMs.length]).toEqual([true, false, 1]);
});

it('forgets a node that was taken back, and all of them at the end', async () => {
  const { clock, retries, dueMs } = setUp();
  retries.retryLater(ID, new Error('no answer'));
  retries.retryLater('0000000002' as NodeId, new Error('no answer'));

  retries.done(ID);
  const left = retries.failing().map(({ nodeId }) => nodeId);
  retries.stop();
  await clock.advance(600_000);

  expect([left, retries.failing(), dueMs]).toEqual([['0000000002'], [], []]);
});
