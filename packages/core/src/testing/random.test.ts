import { expect, it } from 'vitest';
import { Random } from './random.js';

const numbers = (random: Random) => Array.from({ length: 20 }, () => random.int(0, 1_000));

it('gives the same numbers for the same seed, and different numbers for the next seed', () => {
  expect(numbers(new Random(7))).toEqual(numbers(new Random(7)));
  expect(numbers(new Random(7))).not.toEqual(numbers(new Random(8)));
});

it('stays within its bounds and reaches both', () => {
  const random = new Random(1);
  const drawn = new Set(Array.from({ length: 1_000 }, () => random.int(3, 5)));

  expect([...drawn].sort()).toEqual([3, 4, 5]);
});

it('forks a generator that does not affect the original', () => {
  const [used, unused] = [new Random(1), new Random(1)];
  numbers(used.fork());
  unused.fork();

  expect(numbers(used)).toEqual(numbers(unused));
});

it('keeps all items when shuffling, and rejects picking from an empty list', () => {
  const random = new Random(1);

  expect(random.shuffle([1, 2, 3, 4, 5]).toSorted()).toEqual([1, 2, 3, 4, 5]);
  expect(() => random.pick([])).toThrow('nothing to pick from');
  expect(random.hex(8)).toMatch(/^[0-9a-f]{8}$/);
});
