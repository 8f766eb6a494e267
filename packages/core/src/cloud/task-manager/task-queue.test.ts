import { expect, it } from 'vitest';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { TaskQueue, type QueuedTask } from './task-queue.js';

const MANAGER = { name: 'sky' };

function open() {
  const clock = new VirtualClock();
  const log: string[] = [];
  const task = (name: string, run: () => Promise<void>): QueuedTask<typeof MANAGER> => ({
    name,
    run: async () => {
      log.push(`${name} runs`);
      await run();
    },
    refuse: (error) => void log.push(`${name}: ${error.message}`),
  });
  const pausedUntil = new Map<string, number>();
  const pauseMs = (name: string) => Math.max(0, (pausedUntil.get(name) ?? 0) - clock.now());
  const queue = new TaskQueue({ clock, taskTimeoutMs: 5_000, manager: MANAGER, pauseMs });
  return { clock, log, task, queue, pausedUntil };
}

const HANGS = () => new Promise<void>(() => undefined);

it('runs the next task after one that hangs, which fails', async () => {
  const { clock, log, task, queue } = open();
  void queue.add(task('first', HANGS));

  await clock.run(queue.add(task('second', () => Promise.resolve())));

  expect(log).toEqual([
    'first runs',
    'first: first of "sky" has not ended within 5 s; it may have taken effect, and is left to itself',
    'second runs',
  ]);
});

it('does not run a task whose caller has given up', async () => {
  const { log, task, queue } = open();

  await queue.add(task('late', HANGS), AbortSignal.abort(new Error('given up')));

  expect(log).toEqual(['late: given up']);
});

it('gives remaining tasks a minute after a stop', async () => {
  const { clock, log, task } = open();
  const queue = new TaskQueue({ clock, taskTimeoutMs: 300_000, manager: MANAGER, pauseMs: () => 0 });
  const run = queue.add(task('slow', HANGS));
  queue.stop();

  await clock.advance(59_000);
  expect(log).toEqual(['slow runs']);
  await clock.run(run);

  expect(log[1]).toMatch(/^slow: task manager "sky" was stopped 60 s ago/);
});

it('lets tasks overtake those that are paused, and runs these in their order afterwards', async () => {
  const { clock, log, task, queue, pausedUntil } = open();
  pausedUntil.set('create', clock.now() + 60_000);
  const all = ['create', 'delete', 'create'].map((name) => queue.add(task(name, () => Promise.resolve())));
  await clock.advance(59_000);
  const early = [...log];

  await clock.run(Promise.all(all));

  expect(early).toEqual(['delete runs']);
  expect(log).toEqual(['delete runs', 'create runs', 'create runs']);
  expect(clock.pendingTimers).toBe(0);
});

it('ends a task that is given up in a pause', async () => {
  const { clock, log, task, queue, pausedUntil } = open();
  pausedUntil.set('create', clock.now() + 60_000);
  const abort = new AbortController();
  const added = queue.add(task('create', HANGS), abort.signal);
  abort.abort(new Error('given up'));

  await added;

  expect(log).toEqual(['create: given up']);
  expect(clock.pendingTimers).toBe(0);
});
