import { expect, it } from 'vitest';
import { leaseKnowledge } from './lease-knowledge.js';

it.each([
  ['starting', 'CONNECTED', 10_000, [true, false], false],
  ['starting', 'SUSPENDED', 10_000, [false, false], false],
  ['starting', 'SUSPENDED', 0, [true, false], false],
  ['current', 'CONNECTED', 10_000, [true, true], false],
  ['current', 'CONNECTED', 10_000, [true, true], true],
  ['current', 'SUSPENDED', 1, [false, false], true],
  ['cut-off', 'SUSPENDED', 0, [false, false], true],
  ['cut-off', 'CONNECTED', 0, [true, true], true],
  ['cut-off', 'CONNECTED', 10_000, [true, false], true],
] as const)('is %s when %s with %i ms of the session left, caches read: %j, started: %s', (...row) => {
  const [knowledge, state, sessionLeftMs, caches, isStarted] = row;
  const context = { zk: { state, sessionLeftMs }, life: { isStarted } };

  expect(
    leaseKnowledge(
      context,
      caches.map((ready) => ({ ready })),
    ),
  ).toBe(knowledge);
});
