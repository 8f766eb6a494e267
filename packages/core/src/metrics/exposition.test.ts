import { expect, it } from 'vitest';
import { Exposition, type Readers } from './exposition.js';
import type { MetricDefinition } from './table/definition.js';
import { METRICS, type PrometheusKey } from './table/table.js';

/** Readers that find nothing, of all metrics that are not counted by label. */
const none = Object.fromEntries(
  (Object.entries(METRICS) as [PrometheusKey, MetricDefinition][])
    .filter(([, { prometheus }]) => prometheus?.type === 'gauge' || prometheus?.labels.length === 0)
    .map(([key]) => [key, () => []]),
) as Readers;
const samplesOf = async (exposition: Exposition) =>
  (await exposition.render()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));

it('shows no sample of a metric that has none, labels or not', async () => {
  expect(await samplesOf(new Exposition({ ...none, leader: () => [] }))).toEqual([]);
});

it('reads gauges afresh, and leaves out limits that are none', async () => {
  let limit = 5;
  const exposition = new Exposition({ ...none, maxServers: () => [[{ provider: 'sky' }, limit]] });

  expect(await samplesOf(exposition)).toEqual([expect.stringMatching(/\{provider="sky"\} 5$/)]);
  limit = Infinity;
  expect(await samplesOf(exposition)).toEqual([]);
});

it('counts what happens, and shows milliseconds as seconds', async () => {
  const exposition = new Exposition(none);

  exposition.count('builds', { image: 'debian', rc: '0' });
  exposition.count('builds', { image: 'debian', rc: '0' }, 2);
  exposition.observe('buildDuration', { image: 'debian' }, 1_500);
  const samples = await samplesOf(exposition);

  expect(samples).toContainEqual(expect.stringMatching(/builds_total\{image="debian",rc="0"\} 3$/));
  expect(samples).toContainEqual(expect.stringMatching(/_seconds_sum\{image="debian"\} 1.5$/));
});

it('refuses a gauge that nothing reads', () => {
  expect(() => new Exposition({})).toThrow(/is a gauge that nothing reads/);
});
