import { describe, expect, it } from 'vitest';
import { isDemand } from './demand.js';
import type { RecordedRequest } from './past.js';

describe('a recorded request', () => {
  it.each([
    ['zuul', true],
    [null, true],
    ['NodePool:cli:alice@desk', true],
    ['NodePool:min-ready', false],
    ['NodePool:metastatic:slots', false],
  ])('of %s is submitted again: %s', (requestor, expected) => {
    const request: RecordedRequest = {
      ...{ id: '100-0000000000', createdMs: 0, labels: ['small'], requestor, tenant: null },
      shortProviders: new Set(),
    };

    expect(isDemand(request)).toBe(expected);
  });
});
