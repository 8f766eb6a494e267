import { localTimeOf } from '@nodepool/core/config';
import { expect, it } from 'vitest';
import { traces, type Trace } from './traces.js';

const DAY_MS = 86_400_000;
const all = traces(1);

function named(name: string): Trace {
  return all.find((each) => each.name.includes(name)) ?? expect.fail(`there is no trace "${name}"`);
}

/** Requests of the measured time on a day of it. */
const on = ({ arrivals, beginMs }: Trace, day: number) =>
  arrivals.filter(({ atMs }) => atMs >= beginMs + day * DAY_MS && atMs < beginMs + (day + 1) * DAY_MS);

it('are the same ten with the same seed', () => {
  const lastOf = (seed: number) => traces(seed).map(({ arrivals }) => arrivals.at(-1));

  expect(lastOf(1)).toEqual(lastOf(1));
  expect(lastOf(1)).not.toEqual(lastOf(2));
  expect(new Set(all.map(({ name }) => name)).size).toBe(10);
});

it('run nightly jobs at two by the local clock, before and after the clocks change', () => {
  const { arrivals, timeZone } = named('clocks change');
  const hours = new Set(arrivals.map(({ atMs }) => Math.floor(localTimeOf(timeZone, atMs).minute / 60)));
  const utc = new Set(arrivals.map(({ atMs }) => new Date(atMs).getUTCHours()));

  expect([hours, utc]).toEqual([new Set([2]), new Set([1, 0])]);
});

it.each<[string, (trace: Trace) => boolean]>([
  ['pipelines', ({ arrivals }) => arrivals.every(({ nodes }) => nodes >= 20)],
  ['shutdown', (trace) => on(trace, 1).length > 20 * on(trace, 7).length],
  ['release', (trace) => on(trace, 1).length > 2 * on(trace, 8).length],
  ['renamed', ({ arrivals, beginMs }) => arrivals.every(({ atMs }) => atMs >= beginMs)],
  ['quiet', ({ arrivals }) => arrivals.length < 150],
])('differ in kind: %s', (name, isSo) => {
  expect(isSo(named(name))).toBe(true);
});
