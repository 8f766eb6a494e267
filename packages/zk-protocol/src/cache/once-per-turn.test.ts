import { expect, it } from 'vitest';
import { oncePerTurn } from './once-per-turn.js';

it('runs once for all calls of a turn, and again in the next one', async () => {
  let runs = 0;
  const ask = oncePerTurn(() => Promise.resolve(void runs++));

  await Promise.all([ask(), ask(), ask()]);
  const first = runs;
  await ask();

  expect([first, runs]).toEqual([1, 2]);
});

it('rejects all calls of a turn alike, and not those of the next one', async () => {
  let failures = 1;
  const ask = oncePerTurn(() => (failures-- > 0 ? Promise.reject(new Error('no answer')) : Promise.resolve()));
  const calls = await Promise.allSettled([ask(), ask()]);

  expect(calls.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await expect(ask()).resolves.toBeUndefined();
});
