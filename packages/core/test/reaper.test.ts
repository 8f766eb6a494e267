import { encodeNode, newNode, NODES_ROOT, type NodeRecord, type RequestId } from '@nodepool/zk-protocol';
import { InProcessServer, InProcessZooKeeper } from '@nodepool/zk-protocol/in-process';
import { describe, expect, it } from 'vitest';
import { Launcher, silentLogger, type Config, type Driver, type Provider, type ProviderConfig } from '../src/index.js';
import { VirtualClock } from '../src/testing/virtual-clock.js';

const providerConfig: ProviderConfig = {
  name: 'rack',
  driverName: 'idle',
  entry: {},
  maxConcurrency: -1,
  priority: undefined,
  pools: new Map(),
  managesImages: false,
};

const provider: Provider = {
  config: providerConfig,
  start: () => Promise.resolve(),
  idle() {},
  stop() {},
  join: () => Promise.resolve(),
  labelReady: () => true,
  getRequestHandler: () => ({ imagesAvailable: () => true }),
  startNodeCleanup: () => undefined,
  cleanupLeakedResources: () => Promise.resolve(),
  errorLabels: () => new Set(),
};

/** A driver of nodes behind which there is nothing. */
const driver: Driver = {
  name: 'idle',
  apiVersion: 1,
  capabilities: { launches: false, pausesAtQuota: false, managesImages: false },
  schema: {},
  getProviderConfig: () => providerConfig,
  getProvider: () => provider,
};

const config: Config = {
  file: 'nodepool.yaml',
  zookeeper: { servers: [], tls: undefined, digest: undefined, sessionTimeoutMs: 10_000 },
  webapp: { port: 0, listenAddress: '' },
  elementsDir: undefined,
  imagesDir: undefined,
  buildLogDir: '',
  buildLogRetention: 7,
  labels: new Map(),
  diskimages: new Map(),
  providers: new Map([['rack', providerConfig]]),
  maxHoldAgeMs: 0,
  tenantLimits: new Map(),
  warnings: [],
};

async function startedLauncher(nodes: readonly Partial<NodeRecord>[]) {
  const clock = new VirtualClock();
  const server = new InProcessServer(clock);
  const zk = new InProcessZooKeeper(server, { clock, random: () => 0.5 });
  await clock.run(zk.ensurePath(NODES_ROOT));
  for (const fields of nodes) {
    const node = newNode({ state: 'ready', labels: ['a'], provider: 'rack', pool: 'main', ...fields }, clock.now());
    await clock.run(zk.create(`${NODES_ROOT}/`, encodeNode(node), { sequential: true }));
  }
  const registry = { get: () => Promise.resolve(driver), reset: () => Promise.resolve(), loaded: () => [] };
  const launcher = new Launcher({ zk, clock, config, registry, logger: silentLogger, hostname: 'nl01', version: '1' });
  await clock.run(launcher.start());
  // requests to ZooKeeper leave once per turn of the event loop, so time goes on in steps
  for (let step = 0; step < 20; step++) await clock.advance(5);
  const states = () => [...launcher.nodes.values()].map(({ state, allocatedTo }) => [state, allocatedTo]);
  return { clock, states };
}

const gone = '200-0000000007' as RequestId;

describe('taking nodes back', () => {
  it('deletes unlocked nodes whose use is over, and leaves the others alone', async () => {
    const { states } = await startedLauncher([
      { state: 'used' },
      { state: 'in-use' },
      { state: 'hold' },
      { state: 'ready' },
      { state: 'used', provider: 'elsewhere' },
    ]);

    expect(states().map(([state]) => state)).toEqual(['hold', 'ready', 'used']);
  });

  it('frees a ready node whose request is gone', async () => {
    const { states } = await startedLauncher([{ allocatedTo: gone }]);

    expect(states()).toEqual([['ready', null]]);
  });

  it('deletes a record that its launcher never came to lock, once that is certain', async () => {
    const { clock, states } = await startedLauncher([{ state: 'init', allocatedTo: gone }]);
    expect(states()).toEqual([['init', gone]]);

    for (let step = 0; step < 20; step++) await clock.advance(6_000);

    expect(states()).toEqual([]);
  });
});
