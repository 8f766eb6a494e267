import { afterAll, beforeAll, expect, it } from 'vitest';
import { startStatsd, type StatsdHandle } from '@nodepool/test-servers';
import { oneProvider } from '../elastic-config.js';
import { SOON_MS } from '../soon.js';
import { useElastic } from '../use-harness.js';

const get = useElastic();
let statsd: StatsdHandle;

beforeAll(async () => {
  statsd = await startStatsd();
});

afterAll(async () => {
  await statsd.stop();
});

it('statsd and Prometheus receive metrics of launches, API calls and nodes', async () => {
  const zuul = await get().newClient();
  const zones = { 'availability-zones': ['nova-1'] };
  const env = { STATSD_HOST: statsd.host, STATSD_PORT: String(statsd.port) };
  const launcher = await get().launch(oneProvider({ maxServers: 7 }, { cloudSettings: zones }), { env });

  const nodes = await zuul.getNodes(['small', 'small']);
  // values sent at the same moment may arrive in several packets
  const arrived = (kind: 'gauges' | 'counters', wanted: Record<string, number>) =>
    statsd.waitFor((seen) => Object.entries(wanted).every(([name, value]) => seen[kind][name] === value), SOON_MS);
  await arrived('gauges', {
    'nodepool.nodes.in-use': 2,
    'nodepool.label.small.nodes.in-use': 2,
    'nodepool.provider.cloud-one.nodes.in-use': 2,
    'nodepool.provider.cloud-one.max_servers': 7,
  });
  await zuul.giveBack(nodes);
  await get().cloud.until((instances) => instances.length === 0);
  const page = async () => (await fetch(`http://127.0.0.1:${launcher.webPort}/metrics`)).text();
  await expect
    .poll(page, { timeout: SOON_MS })
    .toMatch(/^nodepool_delete_duration_seconds_count\{provider="cloud-one"\} 2$/m);
  await arrived('gauges', { 'nodepool.nodes.in-use': 0, 'nodepool.nodes.deleting': 0 });
  const { counters, timers } = await arrived('counters', {
    'nodepool.task.cloud-one.compute.POST.servers.attempted': 2,
    'nodepool.task.cloud-one.compute.DELETE.servers.attempted': 2,
  });
  const prometheus = await page();

  const requestor = zuul.systemId;
  for (const name of [
    'nodepool.launch.ready',
    'nodepool.launch.provider.cloud-one.ready',
    'nodepool.launch.provider.cloud-one.nova-1.ready',
    `nodepool.launch.requestor.${requestor}.ready`,
    'nodepool.launch.image.debian.ready',
  ]) {
    expect(counters[name], name).toBe(2);
    expect(timers[name], name).toHaveLength(2);
  }
  expect(await statsd.badLines()).toBe(0);
  expect(prometheus).toMatch(/^nodepool_launches_total\{result="ready",provider="cloud-one",az="nova-1",.*\} 2$/m);
});

it('failed launches are counted by cause', async () => {
  const zuul = await get().newClient();
  const env = { STATSD_HOST: statsd.host, STATSD_PORT: String(statsd.port) };
  await get().launch(oneProvider({}, { cloudSettings: { failures: { 'error-state': 1 } } }), { env });

  const id = await zuul.submit(['small']);
  const { state } = await zuul.wait(id);
  await zuul.cancel(id);
  // counters of one launch may arrive in several packets
  const names = ['nodepool.launch.error.status', 'nodepool.launch.provider.cloud-one.error.status'];
  const { counters } = await statsd.waitFor((seen) => names.every((name) => (seen.counters[name] ?? 0) >= 3));

  expect(state).toBe('failed');
  expect(names.map((name) => counters[name])).toEqual([3, 3]);
});
