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
import { startStatsd, type StatsdHandle } from '@nodepool/test-servers';
import { connect, systemClock, type ZooKeeper } from '@nodepool/zk-protocol';
import { startEmbeddedServer, type EmbeddedServer } from '@nodepool/zk-protocol/embedded';
import { ZuulClient } from '../zuul-client.js';

const CONFIG = `
tenant-resource-limits:
  - tenant-name: tenant.one
    max-cores: 8
labels:
  - name: small
providers:
  - name: rack
    driver: static
    pools:
      - name: main
        nodes:
          - name: 127.0.0.1
            labels: small
            host-key-checking: false
`;

const registry = registryOf(driver);

let directory: string;
let server: EmbeddedServer;
let statsd: StatsdHandle;
let connections: ZooKeeper[];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nodepool-metrics-'));
  const file = join(directory, 'nodepool.yaml');
  await writeFile(file, CONFIG);
  [server, statsd] = await Promise.all([startEmbeddedServer({ dataDir: join(directory, 'zk') }), startStatsd()]);
  connections = await Promise.all([1, 2].map(() => connect({ servers: server.connectString })));
});

afterEach(async () => {
  await Promise.all(connections.map((zk) => zk.close()));
  await Promise.all([server.close(), statsd.stop()]);
  await rm(directory, { recursive: true, force: true });
});

it('statsd and Prometheus receive metrics of a served request', async () => {
  const [zk, zuulZk] = connections;
  if (!zk || !zuulZk) throw new Error('no connection');
  const shared = { clock: systemClock, logger: silentLogger, hostname: 'nl01.example.com', version: '1.2.3' };
  const config = await loadConfig({
    file: join(directory, 'nodepool.yaml'),
    env: {},
    drivers: registry,
    mode: 'service',
    ...shared,
  });
  const metrics = new Metrics({ ...shared, pid: 42, statsd });
  const launcher = new Launcher({ ...shared, zk, config, registry, metrics });
  const arrived = (wanted: Record<string, number>) =>
    statsd.waitFor(({ gauges }) => Object.entries(wanted).every(([name, value]) => gauges[name] === value));
  await launcher.start();
  await arrived({
    'nodepool.nodes.ready': 1,
    'nodepool.label.small.nodes.ready': 1,
    'nodepool.provider.rack.nodes.ready': 1,
    'nodepool.provider.rack.pool.main.addressable_requests': 0,
    'nodepool.tenant_limits.tenant_one.cores': 8,
    'nodepool.launcher.nl01.zk.node_cache.event_queue': 0,
  });

  const zuul = new ZuulClient(zuulZk);
  const nodes = await zuul.getNodes(['small']);
  await zuul.submit(['small']);
  await arrived({
    'nodepool.nodes.ready': 0,
    'nodepool.nodes.in-use': 1,
    'nodepool.label.small.nodes.in-use': 1,
    'nodepool.provider.rack.pool.main.addressable_requests': 1,
  });
  // the plan reports waiting requests a moment later
  await expect
    .poll(() => metrics.render())
    .toContain('nodepool_pool_requests{provider="rack",pool="main",state="waiting"} 1');
  const text = await metrics.render();
  const badLines = await statsd.badLines();
  await zuul.giveBack(nodes);
  await launcher.drain(5_000);
  await launcher.stop();
  await metrics.close();

  expect(badLines).toBe(0);
  const lines = text.split('\n');
  expect(lines).toEqual(
    expect.arrayContaining([
      'nodepool_nodes{state="in-use"} 1',
      'nodepool_label_nodes{label="small",state="in-use"} 1',
      'nodepool_provider_nodes{provider="rack",state="ready"} 0',
      'nodepool_addressable_requests{provider="rack",pool="main"} 1',
      'nodepool_requests_ended_total{provider="rack",pool="main",outcome="fulfilled"} 1',
      'nodepool_request_wait_seconds_count{provider="rack",pool="main"} 1',
      'nodepool_pool_requests{provider="rack",pool="main",state="waiting"} 1',
      'nodepool_statistics_leader 1',
      'nodepool_zookeeper_connected 1',
      'nodepool_build_info{version="1.2.3"} 1',
    ]),
  );
  expect(Number(/^nodepool_zookeeper_requests_total (\d+)$/m.exec(text)?.[1])).toBeGreaterThan(5);
});
