import { expect, it } from 'vitest';
import { VirtualClock } from '../testing/virtual-clock.js';
import { BuilderMetrics, type ImageActivity } from './builder-metrics.js';
import { Exposition, type Readers } from './exposition.js';
import type { MetricDefinition } from './table/definition.js';
import { METRICS, type PrometheusKey } from './table/table.js';

const IMAGE: ImageActivity = {
  ...{ image: 'debian', isBuildRequested: true, build: 'building', newestPercent: 10, isWithdrawn: false },
  newest: { builtMs: 5_000, seconds: 60, sizes: { qcow2: 7 } },
  servedMs: new Map([['sky', 4_000]]),
  uploads: new Map([['sky', 'uploading']]),
  failures: new Map([['sky', 3]]),
};

/** Readers without samples, for all metrics that are read on demand. */
const none = Object.fromEntries(
  (Object.entries(METRICS) as [PrometheusKey, MetricDefinition][])
    .filter(([, { prometheus }]) => prometheus?.type === 'gauge' || prometheus?.labels.length === 0)
    .map(([key]) => [key, () => []]),
) as Readers;

function open() {
  const metrics = new BuilderMetrics(new VirtualClock(), 'nb01.example.com', undefined, () => exposition);
  const exposition: Exposition = new Exposition({ ...none, ...metrics.readers() });
  const samples = async () =>
    (await exposition.render()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return { metrics, samples };
}

it('exposes no load before the first report', async () => {
  expect(await open().samples()).toEqual([]);
});

it('shows the state of images and how busy the builder is', async () => {
  const { metrics, samples } = open();

  metrics.imagesChanged([IMAGE], { builds: 1, uploads: 0, buildWorkers: 1, uploadWorkers: 4 });

  expect((await samples()).map((line) => line.replace(/^nodepool_/, ''))).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^\S*canary\S*\{image="debian"\} 10$/),
      expect.stringMatching(/\{image="debian",provider="sky"\} 3$/),
      'image_build_timestamp_seconds{image="debian"} 5',
      'image_last_build_duration_seconds{image="debian"} 60',
      'image_size_bytes{image="debian",format="qcow2"} 7',
      'image_served_build_timestamp_seconds{image="debian",provider="sky"} 4',
      expect.stringMatching(/upload_state\{image="debian",provider="sky"\} 2$/),
    ]),
  );
});

it('counts builds by their exit code', async () => {
  const { metrics, samples } = open();

  metrics.buildEnded('debian', { exitCode: 0, durationMs: 60_000 });
  metrics.buildEnded('debian', { exitCode: 1, durationMs: 1_000 });

  expect((await samples()).filter((line) => line.includes('builds_total'))).toEqual([
    expect.stringMatching(/rc="0"\} 1$/),
    expect.stringMatching(/rc="1"\} 1$/),
  ]);
});
