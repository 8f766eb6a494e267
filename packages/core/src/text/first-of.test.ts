import { expect, it } from 'vitest';
import { firstOf } from './first-of.js';

it('names the first texts and counts the others', () => {
  expect(firstOf(['a', 'b'], 2)).toBe('a, b');
  expect(firstOf(['a', 'b', 'c', 'd'], 2)).toBe('a, b and 2 more');
  expect(firstOf(['a', 'b', 'c'], 2, '; ')).toBe('a; b; and 1 more');
});
