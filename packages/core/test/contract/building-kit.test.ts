import { afterEach, describe, expect, it } from 'vitest';
import type { Json, NodeId, NodeRecord } from '@nodepool/zk-protocol';
import { ConfigError, LaunchError, readStateMachineProvider, type Adapter } from '../../src/index.js';
import { Harness } from '../../src/testing/harness/harness.js';
import { driverContract, type CloudFailureKind, type CloudResource } from '../../src/testing/index.js';
import { translate } from './broken/broken-driver.js';
import { honestDriver, toInstance, validConfig, type Differences } from './honest-driver.js';
import { TestCloud } from './test-cloud.js';

/** A cloud whose machines share a host, which is kept for a while after its last machine. */
class HostedCloud extends TestCloud {
  unseen: readonly CloudFailureKind[] = ['quota', 'capacity'];
  keptMs = 60_000;
  lifetime: CloudResource['lifetime'] = 'shared';
  seen: ReadonlyMap<NodeId, NodeRecord> = new Map();
  #usedMs = -Infinity;

  override delete(id: string): Promise<void> {
    this.#usedMs = this.clock.now();
    return super.delete(id);
  }

  override list(nodes: ReadonlyMap<NodeId, NodeRecord> = new Map()): CloudResource[] {
    this.seen = nodes;
    const nowMs = this.clock.now();
    const isKept = this.machines.size > 0 || nowMs - this.#usedMs < this.keptMs;
    const host = { id: 'host', type: 'host', isReady: true, lifetime: this.lifetime };
    return [...super.list(), ...(isKept ? [host] : [])];
  }
}

const options = (current: () => TestCloud, differences: Differences = {}) => ({
  driver: honestDriver(current, differences),
  validConfig,
  invalidConfigs: {},
});

/** Rules that a driver breaks in the given parts of the contract. */
async function failuresOf(parts: readonly string[], differences: Differences, cloudIs: Partial<HostedCloud> = {}) {
  let current = new HostedCloud();
  const cloud = () => (current = Object.assign(new HostedCloud(), cloudIs));
  const failed: string[] = [];
  for (const { part, name, run } of driverContract({ ...options(() => current, differences), cloud })) {
    if (parts.includes(part)) await run().catch(() => failed.push(name)); // the failing test is the result
  }
  return failed;
}

describe('the driver contract, for machines with shared resources', () => {
  it('allows them to stay for a while after a node', async () => {
    expect(await failuresOf(['delete', 'nothing left'], {})).toEqual([]);
  });

  it('does not allow them to stay indefinitely', async () => {
    expect(await failuresOf(['nothing left'], {}, { keptMs: Infinity })).toEqual([
      'leaves nothing in the cloud after use',
      'leaves nothing in the cloud when the requestor goes away',
    ]);
  });

  it('does not allow resources of a single node to stay', async () => {
    expect(await failuresOf(['delete'], {}, { lifetime: 'node' })).toEqual([
      'has removed what is behind a node when it says so',
    ]);
  });
});

describe('the driver contract, for a driver of namespaces', () => {
  const cluster = { host: 'https://cluster', token: 'secret', namespace: 'main-1' };
  const reachedBy = (connectionType: string, connectionPort: Json = cluster) => ({
    adapter: (_honest: Adapter, cloud: TestCloud) => ({
      listInstances: async () =>
        (await cloud.all()).map((machine) => {
          return { ...toInstance(machine), interfaceIp: null, connectionType, connectionPort };
        }),
    }),
  });

  it('requires no address', async () => {
    // the cloud of this test says another port
    expect(await failuresOf(['create'], reachedBy('namespace'))).toEqual(['stores how to reach what it made']);
    expect(await failuresOf(['create'], reachedBy('ssh'))).toContain('makes a node that can be used');
  });

  it('requires what a client of the cluster needs', async () => {
    expect(await failuresOf(['create'], reachedBy('namespace', 22))).toContain('makes a node that can be used');
    expect(await failuresOf(['create'], reachedBy('kubectl', { ...cluster, token: null }))).toContain(
      'makes a node that can be used',
    );
  });
});

describe('the driver contract, for a driver that cannot see the cause of a failure', () => {
  const vague = { create: { start: translate('NODEPOOL_CAPACITY', () => new LaunchError('status', 'failed')) } };

  it('requires no cause', async () => {
    expect(await failuresOf(['errors'], vague)).toEqual([]);
    expect(await failuresOf(['errors'], vague, { unseen: [] })).toEqual([
      'reports a cloud without room as a lack of capacity',
    ]);
  });

  it('still requires that requests are served', async () => {
    const hopeless = { create: { start: translate('NODEPOOL_CAPACITY', () => new ConfigError('hopeless')) } };

    expect(await failuresOf(['errors'], hopeless)).toEqual(['tries again when the cloud has no capacity']);
  });
});

describe('the harness of a driver that builds on others', () => {
  let harness: Harness | undefined;
  afterEach(() => harness?.close());

  async function open(cloud: HostedCloud): Promise<Harness> {
    const base = honestDriver(() => cloud, {
      driver: { name: 'base', getProviderConfig: (entry) => readStateMachineProvider(entry, { driverName: 'base' }) },
    });
    const pools = [{ name: 'main', 'host-key-checking': false, labels: [{ name: 'big', 'cloud-image': 'debian' }] }];
    return (harness = await Harness.open({
      ...options(() => cloud),
      cloud: () => cloud,
      otherDrivers: [base],
      file: { providers: [{ ...validConfig, name: 'below', driver: 'base', pools }] },
    }));
  }

  it('passes all records to the cloud', async () => {
    const cloud = new HostedCloud();
    const own = await open(cloud);
    await own.startLauncher();
    const { nodes: above } = await own.take(['small']);
    const { nodes: below } = await own.take(['big']);
    await own.resources.list();

    expect([...cloud.seen.keys()]).toEqual([...above, ...below].map(({ id }) => id));
  });

  it('gives providers of another installation different names', async () => {
    const own = await open(new HostedCloud());
    const neighbour = own.neighbour('another');

    const names = [...(await neighbour.configuration.read()).providers.keys()];

    expect(names).toEqual(['another', 'another-below']);
    expect([...(await own.configuration.read()).providers.keys()]).toEqual(['test', 'below']);
  });
});
