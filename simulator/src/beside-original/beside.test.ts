import { expect, it } from 'vitest';
import { runBeside } from './beside.js';

const MINUTES = 30;

it.each([false, true])(
  'stops no nodes beside a launcher that counts ready nodes alone, and makes none in vain; the other was first: %j',
  async (originalFirst) => {
    const setup = { minReady: 2, maxServers: 12, keep: 'stopped', original: 2, originalFirst } as const;

    const result = await runBeside(1, setup, MINUTES);

    expect(result).toMatchObject({ violations: [], stopped: 0, jobs: { failed: 0 }, conditions: ['NotStopped'] });
    expect(result.mostStopped).toBeLessThanOrEqual(2);
    expect([2, 3, 4]).toContain(result.ready);
    expect(result.launches).toBeLessThan(result.jobs.fulfilled + 6);
  },
);

it('keeps as many nodes as the original requests, although the forecast is lower', async () => {
  const setup = { minReady: 0, maxServers: 12, forecast: 0, original: 4 } as const;

  const { launches, jobs, violations, ready } = await runBeside(1, setup, MINUTES);

  expect(violations).toEqual([]);
  expect([4, 5]).toContain(ready);
  expect(launches).toBeLessThan(jobs.fulfilled + 8);
});

it('keeps the computed number although the original registered first', async () => {
  const setup = { minReady: 0, maxServers: 12, forecast: 3, original: 0, originalFirst: true } as const;

  expect(await runBeside(1, setup, 10)).toMatchObject({ violations: [], ready: 3 });
});

it('keeps the stopped nodes of one launcher beside another one without keep', async () => {
  const setup = { minReady: 2, maxServers: 12, keep: 'stopped', second: { minReady: 2, keep: undefined } } as const;

  const { launches, jobs, violations, stopped, mostStopped, ready } = await runBeside(1, setup, MINUTES);

  expect([violations, stopped, mostStopped, ready]).toEqual([[], 2, 2, 0]);
  expect(launches).toBeLessThan(jobs.fulfilled + 6);
});
