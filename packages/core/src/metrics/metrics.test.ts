import { expect, it } from 'vitest';
import { newRequest } from '@nodepool/zk-protocol';
import { silentLogger } from '../contract/logger.js';
import { VirtualClock } from '../testing/virtual-clock.js';
import { Metrics } from './metrics.js';

function create(): Metrics {
  return new Metrics({
    ...{ clock: new VirtualClock(100_000), logger: silentLogger, hostname: 'nl01', pid: 1, version: '1.2.3' },
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

it('shows how requests ended and how long they waited', async () => {
  const metrics = create();
  const request = newRequest({ labels: ['small'], createdTimeMs: 97_000 }, 97_000);

  metrics.requestEnded({ outcome: 'fulfilled', request, provider: 'rack', pool: 'main' });
  metrics.requestEnded({ outcome: 'declined', request, provider: 'rack', pool: 'main' });
  const samples = await samplesOf(metrics);

  expect(samples).toMatchObject({
    'nodepool_requests_ended_total{provider="rack",pool="main",outcome="fulfilled"}': 1,
    'nodepool_requests_ended_total{provider="rack",pool="main",outcome="declined"}': 1,
    'nodepool_request_wait_seconds_count{provider="rack",pool="main"}': 1,
    'nodepool_request_wait_seconds_sum{provider="rack",pool="main"}': 3,
    'nodepool_request_wait_seconds_bucket{le="2.5",provider="rack",pool="main"}': 0,
    'nodepool_request_wait_seconds_bucket{le="5",provider="rack",pool="main"}': 1,
  });
});

it('counts a wait of zero for a request from a requestor whose clock is ahead', async () => {
  const metrics = create();
  const request = newRequest({ labels: ['small'], createdTimeMs: 200_000 }, 200_000);

  metrics.requestEnded({ outcome: 'fulfilled', request, provider: 'rack', pool: 'main' });

  const samples = await samplesOf(metrics);
  expect(samples['nodepool_request_wait_seconds_sum{provider="rack",pool="main"}']).toBe(0);
});

it('shows launches, deletions, calls, leaks and states of operations', async () => {
  const metrics = create();

  metrics.launchEnded('ready', 1_500, { provider: 'a "b"\\', az: null, requestor: 'zuul', image: 'i' });
  metrics.deleteEnded(250, { provider: 'a' });
  metrics.apiCall('a', 'compute.GET.servers', 20, 'ok');
  metrics.leaked('a', 'instances');
  metrics.transition('a', { machine: 'create', from: 'start', to: 'waiting', elapsedMs: 10 });
  metrics.sweepFound('deletion', 0);
  metrics.sweepFound('lost-request', 2);
  const samples = await samplesOf(metrics);

  expect(samples).toMatchObject({
    'nodepool_launches_total{result="ready",provider="a \\"b\\"\\\\",az="",requestor="zuul",image="i"}': 1,
    'nodepool_launch_duration_seconds_sum{provider="a \\"b\\"\\\\",result="ready"}': 1.5,
    'nodepool_delete_duration_seconds_count{provider="a"}': 1,
    'nodepool_api_calls_total{provider="a",call="compute.GET.servers",outcome="ok"}': 1,
    'nodepool_leaked_resources_total{provider="a",type="instances"}': 1,
    'nodepool_operation_state_seconds_count{provider="a",machine="create",state="start"}': 1,
    'nodepool_sweep_found_total{work="lost-request"}': 2,
  });
  expect(Object.keys(samples)).not.toContain('nodepool_sweep_found_total{work="deletion"}');
});

it('shows a bounded number of requestors, which clients invent', async () => {
  const metrics = create();

  for (let i = 0; i < 1_000; i++) {
    metrics.launchEnded('ready', 1, { provider: 'a', az: null, requestor: `r${i}`, image: 'i' });
  }
  const launches = Object.entries(await samplesOf(metrics)).filter(([name]) => name.startsWith('nodepool_launches'));

  expect(launches).toHaveLength(201);
  expect(launches.at(-1)).toEqual([expect.stringContaining('requestor="other"'), 800]);
});
