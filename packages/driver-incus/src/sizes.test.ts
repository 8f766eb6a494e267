import { expect, it } from 'vitest';
import { bytesOf, cpusOf, gibOf, mibOf } from './sizes.js';

it('reads sizes with decimal and binary units', () => {
  expect([bytesOf('1024'), bytesOf('2kB'), bytesOf('1MiB'), mibOf('2GiB'), gibOf('10GiB')]).toEqual([
    1_024, 2_000, 1_048_576, 2_048, 10,
  ]);
  expect(mibOf('1500kB')).toBe(2);
});

it('does not guess shares and unknown units', () => {
  expect([bytesOf('50%'), bytesOf(undefined), bytesOf('3 apples'), cpusOf('abc')]).toEqual(Array(4).fill(undefined));
});

it('counts CPUs, also pinned ones', () => {
  expect([cpusOf('4'), cpusOf('0-3'), cpusOf('0-1,4,6-7'), cpusOf('')]).toEqual([4, 4, 5, undefined]);
});
