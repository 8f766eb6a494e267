import { VirtualClock } from '@nodepool/core/testing';
import { expect, it } from 'vitest';
import { Remembered } from './remembered.js';

it('asks again when an answer is too old, and shares one that is on its way', async () => {
  const clock = new VirtualClock();
  const remembered = new Remembered<string>(clock, () => 300_000);
  let version = 0;
  const ask = () => Promise.resolve(`debian-12-v${++version}`);

  const first = await Promise.all([remembered.get('debian', ask), remembered.get('debian', ask)]);
  await clock.advance(299_000);
  const still = await remembered.get('debian', ask);
  await clock.advance(1_000);
  const newer = await remembered.get('debian', ask);

  expect([...first, still, newer]).toEqual(['debian-12-v1', 'debian-12-v1', 'debian-12-v1', 'debian-12-v2']);
});

it('remembers neither refusals nor forgotten keys', async () => {
  const remembered = new Remembered<number>(new VirtualClock(), () => 300_000);

  await expect(remembered.get('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  const answered = await remembered.get('a', () => Promise.resolve(1));
  remembered.clear();

  expect([answered, await remembered.get('a', () => Promise.resolve(2))]).toEqual([1, 2]);
});
