import { expect, it } from 'vitest';
import { silentLogger } from '../contract/logger.js';
import { VirtualClock } from '../testing/virtual-clock.js';
import { Metrics } from './metrics.js';
import type { ProcessUsage } from './types.js';

function create(processUsage?: () => ProcessUsage): Metrics {
  return new Metrics({
    ...{ clock: new VirtualClock(100_000), logger: silentLogger, hostname: 'nl01', pid: 1, version: '1.2.3' },
    processUsage,
  });
}

/** Every sample of an exposition; fails on a line that is not in the text format. */
async function samplesOf(metrics: Metrics): Promise<Record<string, number>> {
  const samples: Record<string, number> = {};
  const announced = new Set<string>();
  for (const line of (await metrics.render()).split('\n')) {
    const type = /^# TYPE (\S+) (gauge|counter|histogram)$/.exec(line);
    if (type?.[1] !== undefined) announced.add(type[1]);
    if (line === '' || line.startsWith('#')) continue;
    const sample = /^([a-z][a-z0-9_]*)(\{(?:[a-z]+="(?:[^"\\\n]|\\.)*",?)*\})? ([-+0-9.eE]+|\+Inf)$/.exec(line);
    if (!sample) throw new Error(`not a sample: ${line}`);
    const [, name = '', labels = '', value] = sample;
    if (!announced.has(name.replace(/_(bucket|sum|count)$/, '')) && !announced.has(name)) {
      throw new Error(`${name} comes before its type`);
    }
    samples[name + labels] = Number(value);
  }
  return samples;
}

it('exposes process usage from a single reading', async () => {
  let readings = 0;
  const metrics = create(() => {
    readings++;
    return {
      ...{ startTimeSeconds: 5, cpuUserSeconds: 2, cpuSystemSeconds: 1, residentBytes: 10 },
      ...{ heapUsedBytes: 3, heapTotalBytes: 4, eventLoopUtilization: 0.25, openFiles: undefined },
    };
  });

  const samples = await samplesOf(metrics);

  expect(samples).toMatchObject({
    process_cpu_seconds_total: 3,
    process_resident_memory_bytes: 10,
    nodejs_eventloop_utilization: 0.25,
    'nodepool_build_info{version="1.2.3"}': 1,
  });
  expect(Object.keys(samples)).not.toContain('process_open_fds');
  expect(readings).toBe(1);
});

it('omits unknown values', async () => {
  const samples = await samplesOf(create());

  expect(Object.keys(samples)).toEqual(['nodepool_build_info{version="1.2.3"}']);
});
