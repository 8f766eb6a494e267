import { expect, it } from 'vitest';
import { Exposition, type Readers } from './exposition.js';
import type { MetricDefinition } from './table/definition.js';
import { METRICS, type PrometheusKey } from './table/table.js';

/** Readers without samples, for all metrics that are read on demand. */
const none = Object.fromEntries(
  (Object.entries(METRICS) as [PrometheusKey, MetricDefinition][])
    .filter(([, { prometheus }]) => prometheus?.type === 'gauge' || prometheus?.labels.length === 0)
    .map(([key]) => [key, () => []]),
) as Readers;
const samplesOf = async (exposition: Exposition) =>
  (await exposition.render()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));

it('exposes no sample for a metric without values, with or without labels', async () => {
  expect(await samplesOf(new Exposition({ ...none, leader: () => [] }))).toEqual([]);
});

it('reads gauges at each scrape, and omits infinite limits', async () => {
  let limit = 5;
  const exposition = new Exposition({ ...none, maxServers: () => [[{ provider: 'sky' }, limit]] });

  expect(await samplesOf(exposition)).toEqual([expect.stringMatching(/\{provider="sky"\} 5$/)]);
  limit = Infinity;
  expect(await samplesOf(exposition)).toEqual([]);
});

it('counts events, and converts milliseconds to seconds', async () => {
  const exposition = new Exposition(none);

  exposition.count('builds', { image: 'debian', rc: '0' });
  exposition.count('builds', { image: 'debian', rc: '0' }, 2);
  exposition.observe('buildDuration', { image: 'debian' }, 1_500);
  const samples = await samplesOf(exposition);

  expect(samples).toContainEqual(expect.stringMatching(/builds_total\{image="debian",rc="0"\} 3$/));
  expect(samples).toContainEqual(expect.stringMatching(/_seconds_sum\{image="debian"\} 1.5$/));
});

it('rejects a gauge without a reader', () => {
  expect(() => new Exposition({})).toThrow(/is a gauge that nothing reads/);
});
