// Compares name and type of every Nodepool metric with what a real statsd daemon received.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { silentLogger } from '@nodepool/core';
import { loadConfig } from '@nodepool/core/config';
import { registryOf } from '@nodepool/core/testing';
import { Launcher } from '@nodepool/core/launcher';
import { Metrics } from '@nodepool/core/service';
import { driver } from '@nodepool/driver-static';
import { startStatsd, type StatsdHandle, type StatsdMetrics } from '@nodepool/test-servers';
import { connect, systemClock, type ZooKeeper } from '@nodepool/zk-protocol';
import { startEmbeddedServer, type EmbeddedServer } from '@nodepool/zk-protocol/embedded';

const CONFIG = `
tenant-resource-limits: [{tenant-name: ten.ant, max-servers: 1, max-cores: 2, max-ram: 3}]
labels: [{name: small}]
providers:
  - name: rack
    driver: static
    pools: [{name: main, max-servers: 5, nodes: [{name: 127.0.0.1, labels: small, host-key-checking: false}]}]
`;

const STATES = [
  'init',
  'building',
  'testing',
  'ready',
  'in-use',
  'used',
  'hold',
  'deleting',
  'failed',
  'aborted',
  'deleted',
];
const RESULTS = [
  'ready',
  ...['zksession', 'quota', 'unknown', 'nodepool', 'status', 'network', 'keyscan', 'capacity', 'ssh', 'ipadd'],
  ...['servercreatetimeout', 'serverdeletetimeout', 'imagetimeout'],
].map((name) => (name === 'ready' ? name : `error.${name}`));
const LEAKED = [
  'instances',
  'ports',
  'floatingips',
  'amis',
  'disks',
  'images',
  'nics',
  'objects',
  'pips',
  'snapshots',
  'volumes',
];
const QUEUES = ['node_cache', 'request_cache', 'image_cache'].flatMap((cache) => [
  `${cache}.event_queue`,
  `${cache}.playback_queue`,
]);
/** API calls that the published dashboards of a large installation show, without suffixes such as `mean`. */
const DASHBOARD_CALLS = [
  ...['compute.GET.servers_detail', 'compute.GET.server', 'compute.GET.limits', 'compute.GET.flavors_detail'],
  ...['compute.POST.servers', 'compute.DELETE.server', 'network.GET.networks', 'network.GET.subnets'],
  ...['network.GET.ports', 'network.GET.floatingips'],
];

const GAUGES = [
  ...STATES.flatMap((state) => [
    ...[`nodepool.nodes.${state}`, `nodepool.label.small.nodes.${state}`, `nodepool.provider.rack.nodes.${state}`],
  ]),
  'nodepool.provider.rack.pool.main.addressable_requests',
  'nodepool.provider.rack.max_servers',
  ...['cores', 'instances', 'ram'].map((resource) => `nodepool.tenant_limits.ten_ant.${resource}`),
  ...['zk.client.connection_queue', ...QUEUES.map((name) => `zk.${name}`)].map(
    (name) => `nodepool.launcher.nl01.${name}`,
  ),
  'nodepool.dib_image_build.debian.qcow2.size',
  'nodepool.dib_image_build.debian.status.rc',
  'nodepool.dib_image_build.debian.status.last_build',
  'nodepool.image_build_requests',
  'nodepool.image.debian.image_build_requests',
  ...['current_builds', 'current_uploads', 'build_workers', 'upload_workers'].map(
    (name) => `nodepool.builder.nl01.${name}`,
  ),
  'nodepool.builder.nl01.example.com.image.debian.build.state',
  'nodepool.builder.nl01.example.com.image.debian.provider.sky.upload.state',
];
const LAUNCHES = RESULTS.flatMap((result) =>
  ['', 'provider.sky.', 'provider.sky.az1.', 'requestor.zuul_one.', 'image.debian.'].map(
    (of) => `nodepool.launch.${of}${result}`,
  ),
);
const TIMERS_AND_COUNTERS = [
  ...LAUNCHES,
  'nodepool.image_update.debian.sky',
  ...DASHBOARD_CALLS.map((call) => `nodepool.task.sky.${call}.200`),
];
const TIMERS = ['nodepool.dib_image_build.debian.status.duration'];
const COUNTERS = [
  ...LEAKED.map((type) => `nodepool.provider.sky.leaked.${type}`),
  ...['attempted', 'over_1000'].map((what) => `nodepool.task.sky.compute.GET.server.${what}`),
  'nodepool.task.sky.compute.POST.servers.failed',
  'openstack.api.compute.GET.server.attempted',
  'openstack.api.compute.GET.server.over_1000',
  'openstack.api.compute.POST.servers.failed',
];

const registry = registryOf(driver);

let directory: string;
let server: EmbeddedServer;
let statsd: StatsdHandle;
let zk: ZooKeeper;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nodepool-statsd-'));
  await writeFile(join(directory, 'nodepool.yaml'), CONFIG);
  [server, statsd] = await Promise.all([startEmbeddedServer({ dataDir: join(directory, 'zk') }), startStatsd()]);
  zk = await connect({ servers: server.connectString });
});
afterEach(async () => {
  await zk.close();
  await Promise.all([server.close(), statsd.stop()]);
  await rm(directory, { recursive: true, force: true });
});

/** Reports all metrics that launchers and builders do not derive from their caches. */
function report(metrics: Metrics): void {
  const of = { provider: 'sky', az: 'az1', requestor: 'zuul.one', image: 'debian' };
  for (const result of RESULTS) metrics.launchEnded(result, 12, of);
  for (const type of LEAKED) metrics.leaked('sky', type);
  for (const call of DASHBOARD_CALLS) metrics.apiCall('sky', call, 2_000, '200');
  metrics.apiCall('sky', 'compute.GET.server', 2_000, '200', 'openstack.api');
  metrics.apiCall('sky', 'compute.POST.servers', 5, 'error.network', 'openstack.api');
  metrics.apiCall('sky', 'identity.GET.projects', 5, '200', 'nodepool.task.sky');
  const { builder } = metrics;
  builder.buildEnded('debian', { exitCode: 0, durationMs: 5 });
  builder.imageBuilt('debian', 'qcow2', 512);
  builder.uploaded('debian', 'sky', 7);
  const uploads = new Map([['sky', 'idle' as const]]);
  const load = { builds: 0, uploads: 0, buildWorkers: 1, uploadWorkers: 4 };
  builder.imagesChanged(
    [
      {
        ...{ image: 'debian', isBuildRequested: false, build: 'idle', uploads },
        ...{ newestPercent: 100, isWithdrawn: false, failures: new Map(), newest: undefined, servedMs: new Map() },
      },
    ],
    load,
  );
}

const missing = ({ gauges, counters, timers }: StatsdMetrics): string[] => [
  ...GAUGES.filter((name) => !(name in gauges)).map((name) => `gauge ${name}`),
  ...[...TIMERS, ...TIMERS_AND_COUNTERS].filter((name) => !(name in timers)).map((name) => `timer ${name}`),
  ...[...COUNTERS, ...TIMERS_AND_COUNTERS].filter((name) => !(name in counters)).map((name) => `counter ${name}`),
];

it('every statsd metric arrives with its name and type', async () => {
  const shared = { clock: systemClock, logger: silentLogger, hostname: 'nl01.example.com', version: '1.2.3' };
  const file = join(directory, 'nodepool.yaml');
  const config = await loadConfig({ file, env: {}, drivers: registry, mode: 'service', clock: systemClock });
  const metrics = new Metrics({ ...shared, pid: 42, statsd });
  const launcher = new Launcher({ ...shared, zk, config, registry, metrics });
  await launcher.start();

  report(metrics);
  // after a timeout, the assertions below list the missing metrics
  await statsd.waitFor((seen) => missing(seen).length === 0, 30_000).catch(() => undefined);
  const seen = await statsd.metrics();
  const badLines = await statsd.badLines();
  await launcher.drain(5_000);
  await launcher.stop();
  await metrics.close();

  expect(missing(seen)).toEqual([]);
  expect(badLines).toBe(0);
  expect(seen.timers['openstack.api.compute.GET.server.200']).toEqual([2_000]);
  expect(seen.timers['nodepool.task.sky.identity.GET.projects.200']).toEqual([5]);
  expect(seen.timers['nodepool.launch.provider.sky.az1.ready']).toEqual([12]);
});
