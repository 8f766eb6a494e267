import { describe, expect, it } from 'vitest';
import { countLooks } from './look.js';

describe('a watched thread', () => {
  it('is stuck when it has not beaten for so many looks', () => {
    const look = countLooks(0, 3);

    expect([look(0), look(0), look(0)]).toEqual([false, false, true]);
  });

  it('is not stuck when it is busy and idle in turns, however often', () => {
    const look = countLooks(0, 3);
    const seen = Array.from({ length: 30 }, (_, turn) => look(1 + Math.floor(turn / 3)));

    expect(seen).not.toContain(true);
  });

  it('need not have beaten more than once between two looks, nor forwards: the counter may overflow', () => {
    const look = countLooks(2 ** 31 - 1, 2);

    expect([look(-(2 ** 31)), look(-(2 ** 31)), look(-(2 ** 31) + 7)]).toEqual([false, false, false]);
  });
});
