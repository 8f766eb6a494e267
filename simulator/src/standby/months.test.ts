import { expect, it } from 'vitest';
import { syntheticMonths } from './months.js';

const DAY_MS = 86_400_000;
const months = syntheticMonths(1);

/** Requests of one day. */
function requestsOn(date: string): number {
  const dayMs = Date.parse(date);
  const month = months.find(({ beginMs, endMs }) => beginMs <= dayMs && dayMs < endMs);
  return (month?.arrivals ?? []).filter(({ atMs }) => atMs >= dayMs && atMs < dayMs + DAY_MS).length;
}

it('makes the same year from the same seed, each month with four weeks before it', () => {
  expect(syntheticMonths(1)[5]?.arrivals.at(-1)).toEqual(months[5]?.arrivals.at(-1));
  expect(syntheticMonths(2)[5]?.arrivals.at(-1)).not.toEqual(months[5]?.arrivals.at(-1));
  expect(months.map(({ name }) => name)).toEqual([
    ...['2027-01', '2027-02', '2027-03', '2027-04', '2027-05', '2027-06'],
    ...['2027-07', '2027-08', '2027-09', '2027-10', '2027-11', '2027-12'],
  ]);
  for (const { arrivals, beginMs } of months)
    expect(Math.round((beginMs - (arrivals[0]?.atMs ?? 0)) / DAY_MS)).toBe(28);
});

it('has weekends, holidays, quiet months, growth and release days', () => {
  const week = ['2027-02-01', '2027-02-02', '2027-02-03'].map(requestsOn);
  const total = (month: number) =>
    months[month]?.arrivals.filter(({ atMs }) => atMs >= (months[month]?.beginMs ?? 0)).length ?? 0;
  const days = Array.from({ length: 365 }, (_, day) => requestsOn(new Date(Date.UTC(2027, 0, 1 + day)).toISOString()));

  expect(Math.min(...week)).toBeGreaterThan(250);
  for (const free of ['2027-02-06', '2027-12-24']) expect(requestsOn(free)).toBeLessThan(150);
  expect(total(7)).toBeLessThan(0.6 * total(5));
  expect(total(10)).toBeGreaterThan(1.5 * total(1));
  expect(Math.max(...days)).toBeGreaterThan(1.5 * requestsOn('2027-11-03'));
});
