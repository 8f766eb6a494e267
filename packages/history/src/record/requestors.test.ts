import { expect, it } from 'vitest';
import { isDemand } from './requestors.js';

it.each([
  ['zuul', true],
  [null, true],
  ['NodePool:cli:alice@desk', true],
  ['NodePool:min-ready', false],
  ['NodePool:metastatic:slots', false],
])('a request of %s is demand: %s', (requestor, expected) => {
  expect(isDemand({ requestor })).toBe(expected);
});
