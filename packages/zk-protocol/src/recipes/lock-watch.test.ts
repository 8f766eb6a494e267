import { expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.js';
import { StateListeners } from '../client/state-listeners.js';
import type { ZooKeeper } from '../client/contract/types.js';
import { LockLostError } from './errors.js';
import { LockWatch } from './lock-watch.js';

const SAFE_MS = 6000;

function watch({ ephemeral = true } = {}) {
  const clock = new ManualClock();
  const states = new StateListeners(() => {});
  states.set('CONNECTED');
  const zk: Pick<ZooKeeper, 'state' | 'onState'> = {
    get state() {
      return states.state;
    },
    onState: (listener) => states.add(listener),
  };
  const lock = new LockWatch(zk, { root: '/lock', ephemeral, clock, safeSuspendedMs: SAFE_MS });
  return { clock, states, lock };
}

it('counts the lock as lost when the connection is down for too long', () => {
  const { clock, states, lock } = watch();

  states.set('SUSPENDED');
  clock.advance(SAFE_MS - 1);
  expect(lock.signal.aborted).toBe(false);
  clock.advance(1);

  expect(lock.signal.reason).toEqual(new LockLostError('/lock', 'ZooKeeper is unreachable'));
});

it('keeps the lock when the connection is back in time', () => {
  const { clock, states, lock } = watch();

  states.set('SUSPENDED');
  clock.advance(SAFE_MS - 1);
  states.set('CONNECTED');
  clock.advance(SAFE_MS);

  expect(lock.signal.aborted).toBe(false);
  expect(clock.pending).toBe(0);
});

it.each(['LOST', 'CLOSED'] as const)('counts the lock as lost at once when the session is %s', (state) => {
  const { states, lock } = watch();

  states.set(state);

  expect(lock.signal.reason).toEqual(new LockLostError('/lock', 'the ZooKeeper session ended'));
});

it('keeps a permanent lock without connection and session, until its entry is deleted', () => {
  const { clock, states, lock } = watch({ ephemeral: false });

  states.set('SUSPENDED');
  clock.advance(10 * SAFE_MS);
  states.set('LOST');
  expect(lock.signal.aborted).toBe(false);
  lock.entryDeleted();

  expect(lock.signal.aborted).toBe(true);
});

it('reports nothing after it was stopped', () => {
  const { clock, states, lock } = watch();

  states.set('SUSPENDED');
  lock.stop();
  clock.advance(SAFE_MS);
  lock.entryDeleted();

  expect(lock.signal.aborted).toBe(false);
});
