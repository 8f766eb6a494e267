import { expect, it } from 'vitest';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { RateLimiter } from './rate-limiter.js';

const limiterAt = (requestsPerSecond: number, measuredFrom?: 'start' | 'end') => {
  const clock = new VirtualClock();
  return { clock, limiter: new RateLimiter({ clock, requestsPerSecond, measuredFrom }) };
};

it('spaces calls by the rate, in their order', async () => {
  const { clock, limiter } = limiterAt(2);
  const begun: string[] = [];
  const startMs = clock.now();
  const calls = ['a', 'b', 'c'].map((name) =>
    limiter.acquire().then(() => begun.push(`${name} ${clock.now() - startMs}`)),
  );

  await clock.run(Promise.all(calls));

  expect(begun).toEqual(['a 0', 'b 500', 'c 1000']);
});

it('measures from the end of a call where the cloud counts so', async () => {
  const { clock, limiter } = limiterAt(2, 'end');
  const startMs = clock.now();
  await limiter.acquire();
  await clock.advance(300);
  limiter.ended();

  await clock.run(limiter.acquire());

  expect(clock.now() - startMs).toBe(800);
});

it('doubles the interval once for all calls that were refused together, and recovers with successes', () => {
  const { limiter } = limiterAt(10);

  limiter.refused();
  limiter.refused();
  const slowed = limiter.spacingMs;
  for (let i = 0; i < 100; i++) limiter.succeeded();

  expect(slowed).toBe(200);
  expect(limiter.spacingMs).toBe(100);
});

it('does not wait longer after the clock was set back, nor shorter after it was set ahead', async () => {
  const { clock, limiter } = limiterAt(2);
  await limiter.acquire();
  clock.set(clock.now() - 3_600_000);
  const backMs = clock.steadyNow();
  await clock.run(limiter.acquire());
  clock.set(clock.now() + 7_200_000);
  await clock.run(limiter.acquire());

  expect(clock.steadyNow() - backMs).toBe(1_000);
});

it('gives the turn of a call that is not to be made to the next one', async () => {
  const { clock, limiter } = limiterAt(1);
  const startMs = clock.now();
  await limiter.acquire();

  const made = await clock.run(Promise.all([limiter.acquire(undefined, () => true), limiter.acquire()]));

  expect(made).toEqual([false, true]);
  expect(clock.now() - startMs).toBe(1_000);
});

it('lets the next call begin when one before it is aborted', async () => {
  const { clock, limiter } = limiterAt(1);
  const abort = new AbortController();
  await limiter.acquire();
  const aborted = limiter.acquire(abort.signal);
  const next = limiter.acquire();
  abort.abort(new Error('not needed'));

  await expect(aborted).rejects.toThrow('not needed');
  await clock.run(next);
});
