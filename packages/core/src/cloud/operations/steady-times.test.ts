// Durations do not change when the system time is set.
import { expect, it } from 'vitest';
import { MemoryCloud } from '../../../test/support/memory-cloud.js';
import { startDeadline } from '../../async/deadline.js';
import { silentLogger } from '../../contract/logger.js';
import type { MachineState } from '../../contract/state-machine.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { InstanceList } from './instance-list.js';
import { runMachine } from './run-machine.js';
import { createStateMachine, done, wait } from './state-machine.js';

const HOUR_MS = 3_600_000;
const { signal } = new AbortController();

it.each([-HOUR_MS, HOUR_MS])('a machine waits as long as it means to when the clock is set by %i ms', async (byMs) => {
  const clock = new VirtualClock();
  const shared = { clock, logger: silentLogger, random: () => 0 };
  const instances = new InstanceList({ ...shared, source: new MemoryCloud(clock).adapter() });
  const machine = createStateMachine<MachineState, number, object>({
    name: 'patient',
    initial: { name: 'waiting' },
    handlers: {
      waiting: (_state, _context, run) => {
        const waitedMs = run.nowMs - run.enteredMs;
        return waitedMs >= 30_000 ? done(waitedMs) : wait(1_000);
      },
    },
    context: {},
  });
  const running = runMachine(machine, { ...shared, instances, signal });
  await clock.advance(5_000);
  clock.set(clock.now() + byMs);

  expect(await clock.run(running)).toBe(30_000);
});

it.each([-HOUR_MS, HOUR_MS])('a deadline leaves what it left before the clock is set by %i ms', async (byMs) => {
  const clock = new VirtualClock();
  const deadline = startDeadline(clock, 60_000, undefined);
  await clock.advance(10_000);
  clock.set(clock.now() + byMs);

  expect(deadline.remainingMs()).toBe(50_000);
  deadline.end();
});

it.each([-HOUR_MS, HOUR_MS])('instances are read at their pace when the clock is set by %i ms', async (byMs) => {
  const clock = new VirtualClock();
  const cloud = new MemoryCloud(clock);
  const list = new InstanceList({ source: cloud.adapter(), clock, logger: silentLogger, random: () => 0 });
  await list.list(list.mark(), signal);
  clock.set(clock.now() + byMs);
  const startedMs = clock.steadyNow();

  await clock.run(list.list(list.mark(), signal));

  expect(clock.steadyNow() - startedMs).toBe(500);
  list.stop();
});
