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
  return { clock, log, task, queue: new TaskQueue({ clock, taskTimeoutMs: 5_000, manager: MANAGER }) };
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
  const queue = new TaskQueue({ clock, taskTimeoutMs: 300_000, manager: MANAGER });
  const run = queue.add(task('slow', HANGS));
  queue.stop();

  await clock.advance(59_000);
  expect(log).toEqual(['slow runs']);
  await clock.run(run);

  expect(log[1]).toMatch(/^slow: task manager "sky" was stopped 60 s ago/);
});
