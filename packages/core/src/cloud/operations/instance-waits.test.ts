import { expect, it } from 'vitest';
import { InstanceWaits } from './instance-waits.js';

const NEVER = new AbortController().signal;

it('wakes only the watchers of one instance', async () => {
  const waits = new InstanceWaits(() => undefined);
  const first = waits.watch('a', 5, NEVER);
  void waits.watch('b', 3, NEVER);

  expect([waits.oldestMs, waits.youngestMs]).toEqual([3, 5]);
  waits.wake('a');
  await first;

  expect([...waits.watchedIds]).toEqual(['b']);
});

it('reports when a caller starts or stops waiting', async () => {
  let changes = 0;
  const waits = new InstanceWaits(() => void changes++);
  const abort = new AbortController();
  const watch = waits.watch('a', 0, abort.signal);
  const query = waits.ask(undefined, 1, abort.signal);
  abort.abort(new Error('stopped'));

  await expect(watch).rejects.toThrow('stopped');
  await expect(query).rejects.toThrow('stopped');
  expect(changes).toBe(4);
  expect([waits.hasWatchers, waits.questions.size]).toEqual([false, 0]);
});

it('rejects all queries at once, and one that comes with an aborted signal', async () => {
  const waits = new InstanceWaits(() => undefined);
  const query = waits.ask('a', 1, NEVER);
  waits.refuseAll(new Error('the provider stops'));

  await expect(query).rejects.toThrow('the provider stops');
  await expect(waits.ask('a', 1, AbortSignal.abort(new Error('late')))).rejects.toThrow('late');
  expect(waits.questions.size).toBe(0);
});
