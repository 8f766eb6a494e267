import { systemClock } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { startDeadline } from './deadline.js';

it.each([0, -1_000])('a deadline of %i ms is over before anything begins', (timeoutMs) => {
  const deadline = startDeadline(systemClock, timeoutMs, undefined);

  expect(deadline).toMatchObject({ expired: true, signal: { aborted: true } });
  expect(deadline.remainingMs()).toBe(0);
  deadline.end();
});

it('a deadline with time left is not over, and its caller can end it early', () => {
  const caller = new AbortController();
  const deadline = startDeadline(systemClock, 60_000, caller.signal);
  expect(deadline).toMatchObject({ expired: false, signal: { aborted: false } });

  caller.abort(new Error('not wanted any more'));

  expect(deadline).toMatchObject({ expired: false, signal: { aborted: true } });
  deadline.end();
});
