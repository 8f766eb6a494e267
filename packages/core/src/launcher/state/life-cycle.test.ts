import { expect, it } from 'vitest';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { LifeCycle } from './life-cycle.js';

it('begins no work in a new session before that has read which database it has', () => {
  const session = { state: 'CONNECTED' as const, sessionEpoch: 1, sessionLeftMs: 10_000 };
  const life = new LifeCycle(session, [{ ready: true }], new VirtualClock());
  life.database = { id: 'a', epoch: 1 };
  const active = [life.isActive];

  session.sessionEpoch = 2;
  active.push(life.isActive, life.isComplete);
  life.database = { id: 'b', epoch: 2 };
  active.push(life.isActive);

  expect(active).toEqual([true, false, true, true]);
});
