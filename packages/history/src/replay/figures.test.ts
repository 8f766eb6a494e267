import { expect, it } from 'vitest';
import { figuresOf, type RequestResult } from './figures.js';
import type { RecordedUse } from './past.js';

const WINDOW = { sinceMs: 100, untilMs: 200 };

const result = (waitedMs: number, changes: Partial<RequestResult> = {}): RequestResult => ({
  ...{ labels: ['small'], outcome: 'fulfilled', waitedMs, ...changes },
});
function use(beginMs: number, endMs?: number, request: string | undefined = 'r1'): RecordedUse {
  const node = { node: `n${beginMs}`, request, pool: 'rack/main', labels: ['small'], resources: undefined };
  return { ...node, beginMs, lastMs: beginMs, attempts: 0, ...(endMs !== undefined && { endMs }) };
}

it('computes percentiles of the fulfilled requests alone', () => {
  const waits = Array.from({ length: 20 }, (_, i) => result(20 - i));
  const others = [
    result(900, { outcome: 'failed' }),
    result(900, { outcome: 'gone' }),
    result(900, { outcome: 'open' }),
  ];

  expect(figuresOf([...waits, ...others], [], WINDOW).get('small')).toEqual({
    ...{ requests: 23, p50Ms: 10, p95Ms: 19, peak: 0, failed: 1, withdrawn: 1, open: 1 },
  });
});

it('has no percentiles where no request was fulfilled', () => {
  const figures = figuresOf([result(5, { outcome: 'failed' })], [], WINDOW).get('small');

  expect(figures).toMatchObject({ p50Ms: undefined, p95Ms: undefined, failed: 1 });
});

it('counts a request once for each of its labels', () => {
  const figures = figuresOf([result(5, { labels: ['small', 'large', 'small'] })], [], WINDOW);

  expect([...figures].map(([label, { requests }]) => [label, requests])).toEqual([
    ['small', 1],
    ['large', 1],
  ]);
});

it('finds the peak within the window, with nodes in use before it and without those after it', () => {
  const peak = (...uses: RecordedUse[]) => figuresOf([result(1)], uses, WINDOW).get('small')?.peak;

  expect(peak(use(10, 50), use(20, 60), use(30, 70), use(90, 150), use(120, 130))).toBe(2);
  expect(peak(use(10), use(110, 120), use(120, 130))).toBe(2);
  expect(peak(use(110, 120), use(201), use(202))).toBe(1);
});

it('does not count standby nodes that no request used', () => {
  const standby = { ...use(110, 120), request: undefined };

  expect(figuresOf([result(1)], [standby], WINDOW).get('small')?.peak).toBe(0);
});
