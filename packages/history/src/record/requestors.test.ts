import { LEASE_REQUESTOR } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { isDemand } from './requestors.js';

it.each([
  ['zuul', true],
  [null, true],
  ['NodePool:cli:alice@desk', true],
  [LEASE_REQUESTOR, true],
  ['NodePool:min-ready', false],
  ['NodePool:validate', false],
  ['NodePool:metastatic:slots', false],
])('a request of %s is demand: %s', (requestor, expected) => {
  expect(isDemand({ requestor })).toBe(expected);
});
