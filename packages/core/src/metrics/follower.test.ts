import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startStatsd, type StatsdHandle } from '@nodepool/test-servers';
import { startEmbeddedServer, type EmbeddedServer } from '@nodepool/zk-protocol/embedded';
import {
  connect,
  createNodeCache,
  createRequestCache,
  encodeNode,
  encodeRequest,
  newNode,
  newPoolComponent,
  newRequest,
  NODE_CREATE_PATH,
  requestCreatePath,
  STATS_ELECTION_PATH,
  systemClock,
  type LauncherId,
  type NodeFields,
  type NodeRecord,
  type PoolComponentRecord,
  type Resources,
} from '@nodepool/zk-protocol';
import type { Config } from '../contract/config.js';
import { silentLogger } from '../contract/logger.js';
import { Metrics } from './metrics.js';

function poolOf(provider: string, ...supportedLabels: string[]): PoolComponentRecord {
  return newPoolComponent({
    ...{ hostname: 'nl01', state: 'running', version: '1', priority: 100, paused: false },
    launcherId: `nl01-PoolWorker.${provider}-main-0` as LauncherId,
    name: 'main',
    providerName: provider,
    supportedLabels,
  });
}

/** Registered pools that a test can change. */
function changingRegistry(pools: PoolComponentRecord[]) {
  let registered = pools;
  let changed: () => void = () => undefined;
  return {
    get pools() {
      return registered;
    },
    onChange: (listener: () => void) => {
      changed = listener;
      return () => undefined;
    },
    register: (...next: PoolComponentRecord[]) => {
      registered = next;
      changed();
    },
  };
}

describe('installation gauges', () => {
  let directory: string;
  let server: EmbeddedServer;
  let daemon: StatsdHandle;
  const ends: (() => Promise<void>)[] = [];

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'nodepool-metrics-'));
    [server, daemon] = await Promise.all([startEmbeddedServer({ dataDir: directory }), startStatsd()]);
  });
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
    await Promise.all([server.close(), daemon.stop()]);
    await rm(directory, { recursive: true, force: true });
  });

  /** Waits until these gauges have these values. */
  const arrived = (wanted: Record<string, number>) =>
    daemon.waitFor(({ gauges }) => Object.entries(wanted).every(([name, value]) => gauges[name] === value));

  /** The parts of a launcher that metrics observe. */
  async function follow(pid: number, ...pools: PoolComponentRecord[]) {
    const zk = await connect({ servers: server.connectString });
    const shared = { zk, clock: systemClock, logger: silentLogger };
    for (const path of ['/nodepool/nodes', '/nodepool/requests']) await zk.ensurePath(path);
    const [nodes, requests] = [createNodeCache(shared), createRequestCache(shared)];
    const metrics = new Metrics({ ...shared, hostname: 'nl01.example.com', pid, version: '1', statsd: daemon });
    const registry = changingRegistry(pools);
    let tenantLimits: Config['tenantLimits'] = new Map([['a.b', { cores: 8 }]]);
    const attached = metrics.attach({
      ...{ zk, nodes, requests, images: { eventQueue: 3, playbackQueue: 4 } },
      registry,
      onPoolChange: registry.onChange,
      config: () => ({ providers: new Map(), labels: new Map(), tenantLimits }) as unknown as Config,
      pools: () => [],
      failingDeletions: () => 0,
      failingProviders: () => [],
    });
    await Promise.all([nodes.start(), requests.start()]);
    attached.start();
    const stop = async (): Promise<void> => {
      attached.stop();
      await metrics.close();
      nodes.stop();
      requests.stop();
      await zk.close();
    };
    ends.push(stop);
    return {
      ...{ zk, metrics, stop },
      register: registry.register,
      limitTenants: (...limits: [tenant: string, resources: Resources][]) => {
        tenantLimits = new Map(limits);
        attached.configChanged();
      },
      addNode: (fields: NodeFields & Pick<NodeRecord, 'state'>) =>
        zk.create(NODE_CREATE_PATH, encodeNode(newNode(fields, systemClock.now())), { sequential: true }),
      addRequest: (...labels: string[]) =>
        zk.create(requestCreatePath(100), encodeRequest(newRequest({ labels }, 0)), { sequential: true }),
    };
  }

  it('are sent after changes, zeros included', async () => {
    const launcher = await follow(1, poolOf('rack', 'small', 'big'));
    await arrived({
      'nodepool.nodes.ready': 0,
      'nodepool.label.big.nodes.hold': 0,
      'nodepool.provider.rack.nodes.deleted': 0,
      'nodepool.provider.rack.pool.main.addressable_requests': 0,
    });

    await launcher.addNode({ state: 'ready', labels: ['small'], provider: 'rack' });
    await Promise.all([launcher.addRequest('small', 'big'), launcher.addRequest('arm')]);

    await arrived({
      'nodepool.nodes.ready': 1,
      'nodepool.nodes.building': 0,
      'nodepool.label.small.nodes.ready': 1,
      'nodepool.label.big.nodes.ready': 0,
      'nodepool.provider.rack.nodes.ready': 1,
      'nodepool.provider.rack.pool.main.addressable_requests': 1,
      'nodepool.tenant_limits.a_b.cores': 8,
      'nodepool.launcher.nl01.zk.node_cache.event_queue': 0,
      'nodepool.launcher.nl01.zk.node_cache.playback_queue': 0,
      'nodepool.launcher.nl01.zk.request_cache.event_queue': 0,
      'nodepool.launcher.nl01.zk.request_cache.playback_queue': 0,
      'nodepool.launcher.nl01.zk.image_cache.event_queue': 3,
      'nodepool.launcher.nl01.zk.image_cache.playback_queue': 4,
    });
    const { gauges } = await daemon.metrics();
    expect(gauges).toHaveProperty(['nodepool.launcher.nl01.zk.client.connection_queue']);
    expect(await daemon.badLines()).toBe(0);
  });

  it('are sent as zero once for a removed label or provider', async () => {
    const launcher = await follow(1, poolOf('rack', 'small'), poolOf('old', 'gone'));
    const path = await launcher.addNode({ state: 'ready', labels: ['gone'], provider: 'old' });
    await launcher.addRequest('gone');
    await arrived({
      'nodepool.label.gone.nodes.ready': 1,
      'nodepool.provider.old.nodes.ready': 1,
      'nodepool.provider.old.pool.main.addressable_requests': 1,
    });

    launcher.register(poolOf('rack', 'small'));
    await launcher.zk.delete(path);

    await arrived({
      'nodepool.label.gone.nodes.ready': 0,
      'nodepool.provider.old.nodes.ready': 0,
      'nodepool.provider.old.pool.main.addressable_requests': 0,
      'nodepool.provider.rack.pool.main.addressable_requests': 0,
    });
    // counters stay: the time that its nodes took does not go away
    const gauges = (await launcher.metrics.render()).split('\n').filter((line) => !line.includes('seconds_total{'));
    expect(gauges.join('\n')).not.toMatch(/"(gone|old)"/);
  });

  it('are zero for removed tenant limits', async () => {
    const launcher = await follow(1, poolOf('rack', 'small'));
    launcher.limitTenants(['one', { cores: 8, ram: 1024 }], ['two', { instances: 5 }]);
    await arrived({
      'nodepool.tenant_limits.one.cores': 8,
      'nodepool.tenant_limits.one.ram': 1024,
      'nodepool.tenant_limits.two.instances': 5,
      'nodepool.tenant_limits.a_b.cores': 0,
    });

    launcher.limitTenants(['one', { cores: 9 }]);

    await arrived({
      'nodepool.tenant_limits.one.cores': 9,
      'nodepool.tenant_limits.one.ram': 0,
      'nodepool.tenant_limits.two.instances': 0,
    });
  });

  it('are sent by one launcher, and by the next when it stops', async () => {
    const first = await follow(11, poolOf('rack', 'small'));
    await arrived({ 'nodepool.label.small.nodes.ready': 0 });
    const second = await follow(22, poolOf('rack', 'only-known-to-the-second'));
    await expect.poll(() => second.zk.getChildren(STATS_ELECTION_PATH).then((entries) => entries.length)).toBe(2);
    const holder = (await first.zk.getChildren(STATS_ELECTION_PATH)).sort((a, b) =>
      a.slice(-10) < b.slice(-10) ? -1 : 1,
    );
    const identifier = (await first.zk.getData(`${STATS_ELECTION_PATH}/${holder[0] ?? ''}`)).data.toString();
    const whileFirstLeads = await daemon.metrics();
    const leaders = await Promise.all([first, second].map(({ metrics }) => metrics.render()));

    await first.stop();
    await arrived({ 'nodepool.label.only-known-to-the-second.nodes.ready': 0 });

    expect(identifier).toBe('nl01-11');
    expect(Object.keys(whileFirstLeads.gauges).filter((name) => name.includes('second'))).toEqual([]);
    expect(leaders.map((text) => /^nodepool_statistics_leader (\d)$/m.exec(text)?.[1])).toEqual(['1', '0']);
  });
});
