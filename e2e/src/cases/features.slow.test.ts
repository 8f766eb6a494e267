import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@nodepool/core';
import { loadConfig } from '@nodepool/core/config';
import { FEATURES, Launcher } from '@nodepool/core/launcher';
import { registryOf } from '@nodepool/core/testing';
import { driver } from '@nodepool/driver-fake';
import { connect, systemClock, type ZooKeeper } from '@nodepool/zk-protocol';
import { startEmbeddedServer, type EmbeddedServer } from '@nodepool/zk-protocol/embedded';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ZuulClient } from '../zuul-client.js';

const CONFIG = `
labels: [{name: small, min-ready: 1}]
providers:
  - name: cloud
    driver: fake
    cloud-images: [{name: image}]
    pools: [{name: main, max-servers: 3, labels: [{name: small, cloud-image: image}]}]
`;

const registry = registryOf(driver);
let directory: string;
let server: EmbeddedServer;
let connections: ZooKeeper[];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nodepool-features-'));
  await writeFile(join(directory, 'nodepool.yaml'), CONFIG);
  server = await startEmbeddedServer({ dataDir: join(directory, 'zk') });
  connections = await Promise.all([1, 2].map(() => connect({ servers: server.connectString })));
});

afterEach(async () => {
  await Promise.all(connections.map((zk) => zk.close()));
  await server.close();
  await rm(directory, { recursive: true, force: true });
});

it.each(Object.keys(FEATURES))('a launcher without %s launches, lends and deletes nodes', async (name) => {
  const [zk, zuulZk] = connections as [ZooKeeper, ZooKeeper];
  const { [name]: _left, ...features } = FEATURES;
  const file = join(directory, 'nodepool.yaml');
  const config = await loadConfig({ file, drivers: registry, mode: 'service', stateDir: directory });
  const shared = { clock: systemClock, logger: silentLogger, hostname: 'nl01.example.com', version: '1' };
  const launcher = new Launcher({ ...shared, zk, config, registry, features });
  await launcher.start();
  const zuul = new ZuulClient(zuulZk);

  const nodes = await zuul.getNodes(['small', 'small']);
  const used = nodes.map(({ id }) => id);
  await zuul.giveBack(nodes);
  await expect.poll(() => used.filter((id) => launcher.nodes.get(id)), { timeout: 20_000 }).toEqual([]);
  await expect
    .poll(() => [...launcher.nodes.values()].map(({ state }) => state), { timeout: 20_000 })
    .toEqual(name === 'standby' ? [] : ['ready']);
  await launcher.drain(5_000);
  await launcher.stop();
});
