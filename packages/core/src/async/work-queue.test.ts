import { expect, it } from 'vitest';
import { VirtualClock } from '../testing/virtual-clock.js';
import { WorkQueue, type Step } from './work-queue.js';

const LIMITS = { firstMs: 100, longestMs: 1_000 };

/** A queue whose steps end when the test says so. */
function setUp() {
  const clock = new VirtualClock();
  const begun: string[] = [];
  const ends = new Map<string, { resolve: () => void; reject: (error: Error) => void }>();
  const step = (key: string): Step => ({
    run: () => {
      begun.push(key);
      return new Promise<void>((resolve, reject) => ends.set(key, { resolve, reject }));
    },
  });
  const due = new Map<string, Step | undefined>();
  const errors: string[] = [];
  const limits = { get: (key: string) => (key === 'no pause' ? undefined : LIMITS) };
  const queue = new WorkQueue<string>(
    { clock, random: () => 0 },
    {
      decide: (key) => (due.has(key) ? due.get(key) : step(key)),
      failed: (key, error) => {
        errors.push(`${key}: ${(error as Error).message}`);
        return limits.get(key);
      },
    },
  );
  const end = async (key: string) => {
    ends.get(key)?.resolve();
    await clock.advance(0);
  };
  const fail = async (key: string) => {
    ends.get(key)?.reject(new Error('no answer'));
    await clock.advance(0);
  };
  return { clock, queue, begun, due, step, errors, end, fail };
}

it('runs one step of a key at a time, and looks again if it changed meanwhile, once for all changes', async () => {
  const { queue, begun, end } = setUp();

  expect([queue.add('a'), queue.add('a'), queue.add('b'), queue.add('a')]).toEqual([true, false, true, false]);
  expect(begun).toEqual(['a', 'b']);
  expect(queue.running).toEqual(['a', 'b']);
  await end('a');
  await end('b');
  await end('a');

  expect(begun).toEqual(['a', 'b', 'a']);
  expect(queue.running).toEqual([]);
});

it('does nothing about a key that needs nothing', () => {
  const { queue, begun, due } = setUp();
  due.set('a', undefined);

  expect(queue.add('a')).toBe(false);
  expect(begun).toEqual([]);
});

it('looks at a key again when its step is due, and decides then', async () => {
  const { clock, queue, begun, due, step } = setUp();
  due.set('a', { ...step('a'), afterMs: 500 }).set('b', { ...step('b'), afterMs: 500 });
  queue.add('a');
  queue.add('b');
  due.delete('a');
  due.set('b', undefined);

  await clock.advance(499);
  expect(begun).toEqual([]);
  await clock.advance(1);
  expect(begun).toEqual(['a']);
});

it('does not begin a step at the time of an earlier decision', async () => {
  const { clock, queue, begun, due, step } = setUp();
  due.set('a', { ...step('a'), afterMs: 500 });
  queue.add('a');
  due.set('a', { ...step('a'), afterMs: 2_000 });
  queue.add('a');

  await clock.advance(1_999);
  expect(begun).toEqual([]);
  due.delete('a');
  await clock.advance(1);
  expect(begun).toEqual(['a']);
});

it('tries again after pauses that grow, whatever changes meanwhile, and a success ends that', async () => {
  const { clock, queue, begun, errors, fail, end } = setUp();
  queue.add('a');
  await fail('a');
  expect(queue.failuresOf('a')).toEqual({ failures: 1, pauseMs: 100 });

  queue.add('a');
  await clock.advance(99);
  expect(begun).toEqual(['a']);
  await clock.advance(1);
  await fail('a');
  await clock.advance(199);
  expect(begun).toEqual(['a', 'a']);
  await clock.advance(1);
  await end('a');

  expect(begun).toEqual(['a', 'a', 'a']);
  expect(errors).toEqual(['a: no answer', 'a: no answer']);
  expect(queue.failuresOf('a')).toEqual({ failures: 0, pauseMs: undefined });
});

it('counts failures on while others have the key in between', async () => {
  const { clock, queue, due, fail } = setUp();
  queue.add('a');
  await fail('a');
  due.set('a', undefined);
  await clock.advance(100);
  due.delete('a');

  queue.add('a');
  await fail('a');

  expect(queue.failuresOf('a')).toEqual({ failures: 2, pauseMs: 200 });
  queue.forget('a');
  queue.add('a');
  await fail('a');
  expect(queue.failuresOf('a').failures).toBe(1);
});

it('waits for the next change, and does not pause, where that leads back to the key', async () => {
  const { clock, queue, begun, fail } = setUp();
  queue.add('no pause');
  await fail('no pause');
  await clock.advance(10_000);
  expect(begun).toEqual(['no pause']);

  expect(queue.add('no pause')).toBe(true);
});

it('does not come back to a key that was forgotten while its step was running, unless it was added since', async () => {
  const { clock, queue, begun, fail } = setUp();
  queue.add('a');
  queue.forget('a');
  await fail('a');
  queue.add('b');
  queue.forget('b');
  queue.add('b');
  await fail('b');
  await clock.advance(10_000);

  expect(begun).toEqual(['a', 'b', 'b']);
});

it('ends a pause on demand', async () => {
  const { clock, queue, begun, fail } = setUp();
  queue.add('a');
  await fail('a');

  expect(queue.addNow('a')).toBe(true);
  await clock.advance(1_000);

  expect(begun).toEqual(['a', 'a']);
});

it('begins no step after it has stopped, and waits for those that are running', async () => {
  const { clock, queue, begun, due, step, end, fail } = setUp();
  due.set('later', { ...step('later'), afterMs: 100 });
  queue.add('a');
  queue.add('a');
  queue.add('later');
  queue.add('b');
  await fail('b');
  let isStopped = false;

  void queue.stop().then(() => (isStopped = true));
  queue.add('c');
  await clock.advance(10_000);
  expect(isStopped).toBe(false);
  await end('a');

  expect(isStopped).toBe(true);
  expect(begun).toEqual(['a', 'b']);
});
