import { expect, it } from 'vitest';
import { SharedCalls } from './shared-calls.js';

/** Calls that are started and answered by hand. */
function calls() {
  const shared = new SharedCalls();
  const started: { begin: () => void; answer: (value: string) => void; signal: AbortSignal }[] = [];
  const start = (signal: AbortSignal, begin: () => void) =>
    new Promise<string>((answer) => started.push({ begin, answer, signal }));
  const join = (signal?: AbortSignal) => shared.join('list', start, signal);
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  return { started, join, turn };
}

it('shares a call among callers before it starts, and makes another for later ones', async () => {
  const { started, join, turn } = calls();
  const early = [join(), join()];
  await turn();
  started[0]?.begin();
  const late = join();
  await turn();
  expect(started).toHaveLength(1);

  started[0]?.answer('first');
  expect(await Promise.all(early)).toEqual(['first', 'first']);
  await turn();
  started[1]?.answer('second');

  expect(await late).toBe('second');
});

it('aborts a call that no caller waits for any more, and not before', async () => {
  const { started, join, turn } = calls();
  const [one, two] = [new AbortController(), new AbortController()];
  const results = [join(one.signal), join(two.signal)];
  await turn();

  one.abort(new Error('first gave up'));
  const stillRuns = started[0]?.signal.aborted === false;
  two.abort(new Error('second gave up'));

  expect(stillRuns).toBe(true);
  expect(started[0]?.signal.aborted).toBe(true);
  await expect(results[0]).rejects.toThrow('first gave up');
  await expect(results[1]).rejects.toThrow('second gave up');
});
