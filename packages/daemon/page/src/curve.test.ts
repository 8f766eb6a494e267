import { expect, it } from 'vitest';
import { stepPath } from './curve.js';

const SIZE = { width: 40, height: 10, most: 5 };

it('draws a level for each value', () => {
  expect(stepPath([0, 5, 2, 2], SIZE)).toBe('M0 10H10V0H20V6H30V6H40');
});

it('leaves a gap where a value is not known', () => {
  expect(stepPath([null, 5, null, 0], SIZE)).toBe('M10 0H20M30 10H40');
  expect(stepPath([null, null], SIZE)).toBe('');
});
