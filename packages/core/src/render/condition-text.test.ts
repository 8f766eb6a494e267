import { expect, it } from 'vitest';
import type { Condition } from '../contract/condition.js';
import { conditionText, nextStepText } from './condition-text.js';

const NOW_MS = 1_000_000;
const condition: Condition = {
  ...{ kind: 'provider', name: 'sky', type: 'LaunchesFail', status: 'true', severity: 'error', reason: 'Unauthorized' },
  ...{ message: '3 launches in a row failed: 401', nextStep: '', evidence: {}, sinceMs: 0, lastSeenMs: NOW_MS },
};

it.each([
  [{}, 'provider "sky": 3 launches in a row failed: 401'],
  [{ evidence: { lastError: 'ETIMEDOUT' } }, 'provider "sky": 3 launches in a row failed: 401 (last error: ETIMEDOUT)'],
  [{ lastSeenMs: NOW_MS - 60_000 }, 'provider "sky": 3 launches in a row failed: 401'],
  [{ lastSeenMs: NOW_MS - 420_000 }, 'provider "sky": 3 launches in a row failed: 401 (last seen 7 min 0 s ago)'],
  [
    { status: 'unknown' as const },
    'provider "sky": 3 launches in a row failed: 401 (it may be over: its service does not answer)',
  ],
  [
    { evidence: { nextProbe: (NOW_MS + 40_000) / 1_000 } },
    'provider "sky": 3 launches in a row failed: 401 (next probe in 40 s)',
  ],
  [{ kind: 'node' as const, name: '0000000007' }, 'node 0000000007: 3 launches in a row failed: 401'],
])('tells a condition and how old it is: %j', (changes, expected) => {
  expect(conditionText({ ...condition, ...changes }, NOW_MS)).toBe(expected);
});

it('states that no action is needed when waiting helps', () => {
  expect(nextStepText(condition)).toBe('nothing: it ends by itself');
  expect(nextStepText({ nextStep: 'log in' })).toBe('log in');
});
