import { expect, it } from 'vitest';
import type { ConnectionState } from '@nodepool/zk-protocol';
import { LeaseReading } from './lease-knowledge.js';

/** A launcher whose connection, session and caches the test sets. */
function launcher({ isStarted }: { isStarted: boolean }) {
  const onState: ((state: ConnectionState) => void)[] = [];
  const zk = {
    ...{ state: 'SUSPENDED' as ConnectionState, sessionLeftMs: 0 },
    onState: (listener: (state: ConnectionState) => void) => (onState.push(listener), () => {}),
  };
  const caches = [0, 1].map(() => {
    const listeners: ((ready: boolean) => void)[] = [];
    const onReady = (listener: (ready: boolean) => void) => (listeners.push(listener), () => {});
    return { ready: false, onReady, listeners };
  });
  const read = (...ready: boolean[]) => {
    for (const [index, cache] of caches.entries()) {
      const before = cache.ready;
      cache.ready = ready[index] ?? false;
      if (cache.ready !== before) for (const listener of cache.listeners) listener(cache.ready);
    }
  };
  const reading = new LeaseReading({ zk, life: { isStarted } }, caches);
  const become = (state: ConnectionState, sessionLeftMs: number) => {
    Object.assign(zk, { state, sessionLeftMs });
    if (state !== 'CONNECTED') read(false, false);
    for (const listener of onState) listener(state);
  };
  return { reading, become, read };
}

it.each([
  ['starting', 'CONNECTED', 10_000, [true, false], false],
  ['starting', 'SUSPENDED', 10_000, [false, false], false],
  ['starting', 'SUSPENDED', 0, [true, false], false],
  ['current', 'CONNECTED', 10_000, [true, true], false],
  ['current', 'CONNECTED', 10_000, [true, true], true],
  ['cut-off', 'CONNECTED', 0, [true, true], true],
  ['cut-off', 'CONNECTED', 10_000, [true, false], true],
] as const)('is %s when %s with %i ms of the session left, caches read: %j, started: %s', (...row) => {
  const [knowledge, state, sessionLeftMs, caches, isStarted] = row;
  const { reading, become, read } = launcher({ isStarted });
  become(state, sessionLeftMs);

  read(...caches);

  expect(reading.knowledge).toBe(knowledge);
});

it.each([
  ['current', 'has read all', 1, [true, true]],
  ['cut-off', 'has read all, and has lost the session', 0, [true, true]],
  ['cut-off', 'has not read all again', 10_000, [true, false]],
] as const)('is %s when it %s, and is disconnected with %i ms of the session left', (...row) => {
  const [knowledge, , sessionLeftMs, again] = row;
  const { reading, become, read } = launcher({ isStarted: true });
  become('CONNECTED', 10_000);
  read(true, true);
  become('SUSPENDED', 10_000);
  become('CONNECTED', 10_000);
  read(...again);

  become('SUSPENDED', sessionLeftMs);

  expect(reading.knowledge).toBe(knowledge);
});
