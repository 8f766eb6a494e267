import { expect, it } from 'vitest';
import { summaryOf } from './attention.js';
import type { Condition, Overview } from './types.js';

const found = (...severities: string[]): Overview =>
  ({ conditions: severities.map((severity) => ({ severity }) as Condition) }) as unknown as Overview;

it('is not calm above a list of conditions', () => {
  expect(summaryOf(found())).toEqual([]);
  expect(summaryOf(found('warning'))).toEqual(['1 warning needs attention']);
  expect(summaryOf(found('warning', 'warning'))).toEqual(['2 warnings need attention']);
  expect(summaryOf(found('error', 'warning'))).toEqual(['1 error needs attention']);
});
