import { expect, it } from 'vitest';
import { BoundedNames } from './bounded-names.js';

it('shows the first names, and takes the others for one', () => {
  const names = new BoundedNames(2);

  expect(['a', 'b', 'a', 'c', 'b', ''].map((name) => names.shown(name))).toEqual(['a', 'b', 'a', 'other', 'b', '']);
  expect(names.shown(null)).toBe(null);
});
