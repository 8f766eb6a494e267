import {
  newNode,
  newRequest,
  withNode,
  type JsonObject,
  type NodeId,
  type NodeRecord,
  type RequestId,
} from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it } from 'vitest';
import type { LaunchResult, Provider, ProviderContext } from '../../contract/driver.js';
import type { scanHostKeys } from '../key-scan/scan-host-keys.js';
import { DATABASE_ID_TAG, NODE_CREATED_TAG, NODE_ID_TAG, PROVIDER_TAG } from '../../contract/instance.js';
import { silentLogger } from '../../contract/logger.js';
import { InstanceList } from '../operations/instance-list.js';
import { runMachine } from '../operations/run-machine.js';
import { readStateMachineProvider } from '../state-machine/read-config.js';
import type { StateMachineProviderConfig } from '../state-machine/types.js';
import { MemoryCloud } from '../../../test/support/memory-cloud.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { SimpleTaskManagerAdapter, SimpleTaskManagerInstance } from './simple-adapter.js';
import { SimpleTaskManagerDriver } from './simple-driver.js';
import { simpleCreateMachine, type CreateOptions } from './simple-machines.js';

let clock = new VirtualClock();

afterEach(() => {
  expect(clock.pendingTimers).toBe(0);
  clock = new VirtualClock();
});

const FIRST = { metadata: {}, isRepeated: false };

describe('the creation of a simple driver', () => {
  /** Creates instance `i-1`. @param lagMs - for how long lists may miss it */
  function begin(cloud: MemoryCloud, lagMs?: number, left: Pick<CreateOptions, 'metadata' | 'isRepeated'> = FIRST) {
    const { signal } = new AbortController();
    const shared = { clock, logger: silentLogger, random: () => 0 };
    const instances = new InstanceList({ ...shared, source: cloud.adapter() });
    const create = () => Promise.resolve('i-1');
    const machine = simpleCreateMachine({ calls: { create }, ...left, lagMs });
    return runMachine(machine, { ...shared, instances, signal, timeoutMs: 3_600_000 });
  }

  it('fails when the instance was missing in two lists after it had been seen', async () => {
    const cloud = new MemoryCloud(clock);
    cloud.put({ externalId: 'i-1' });
    const startedMs = clock.now();
    const creating = begin(cloud);
    await clock.advance(5_000);
    const listsBefore = cloud.count('list');
    cloud.remove('i-1');

    await expect(clock.run(creating)).rejects.toThrow('instance i-1 vanished while it started');

    expect(cloud.count('list') - listsBefore).toBe(2);
    expect(clock.now() - startedMs).toBeLessThan(15_000);
  });

  it('continues when one list alone missed the instance', async () => {
    const cloud = new MemoryCloud(clock);
    cloud.put({ externalId: 'i-1' });
    const creating = begin(cloud);
    await clock.advance(5_000);
    cloud.remove('i-1');
    const missed = cloud.count('list') + 1;
    while (cloud.count('list') < missed) await clock.advance(100);
    cloud.put({ externalId: 'i-1' });
    await clock.advance(10_000);
    cloud.put({ externalId: 'i-1', ready: true });

    expect(await clock.run(creating)).toMatchObject({ externalId: 'i-1' });
  });

  it.each([
    ['the instance of the node', '2', 'left'],
    ['no instance of a former node of its number, of a database that was restored', '1', 'i-1'],
  ])('takes %s when it is repeated', async (_what, createdMs, taken) => {
    const tags = { [NODE_ID_TAG]: '0000000001', [PROVIDER_TAG]: 'cloud', [DATABASE_ID_TAG]: 'd' };
    const cloud = new MemoryCloud(clock);
    cloud.put({ externalId: 'left', ready: true, metadata: { ...tags, [NODE_CREATED_TAG]: createdMs } });
    cloud.put({ externalId: 'i-1', ready: true });

    const creating = begin(cloud, 0, { metadata: { ...tags, [NODE_CREATED_TAG]: '2' }, isRepeated: true });

    expect(await clock.run(creating)).toMatchObject({ externalId: taken });
  });

  it('has patience with a cloud that lists a new instance late', async () => {
    const cloud = new MemoryCloud(clock);
    const creating = begin(cloud);
    await clock.advance(20_000);
    cloud.put({ externalId: 'i-1', ready: true });

    expect(await clock.run(creating)).toMatchObject({ externalId: 'i-1' });
  });

  it('has patience for as long as lists lag', async () => {
    const cloud = new MemoryCloud(clock);
    const creating = begin(cloud, 120_000);
    await clock.advance(100_000);
    cloud.put({ externalId: 'i-1', ready: true });

    expect(await clock.run(creating)).toMatchObject({ externalId: 'i-1' });
  });

  it('does not wait indefinitely for an instance that is never listed', async () => {
    const startedMs = clock.now();

    await expect(clock.run(begin(new MemoryCloud(clock)))).rejects.toThrow('vanished');

    expect(clock.now() - startedMs).toBeLessThan(60_000);
  });
});

class ListedInstance extends SimpleTaskManagerInstance<string> {
  // As a driver's author may declare them.
  override connectionPort: number | undefined = undefined;
  zone: string | undefined;

  override load(externalId: string): void {
    Object.assign(this, { externalId, ready: true, interfaceIp: 'machine.example', metadata: {} });
    this.connectionPort = 2222;
    this.username = 'ubuntu';
    this.zone = 'z1';
  }
}

class OneInstance extends SimpleTaskManagerAdapter {
  override createInstance = () => Promise.resolve('i-1');
  override deleteInstance = () => Promise.resolve();
  override listInstances = () => Promise.resolve([new ListedInstance('i-1')]);
}

class OneInstanceDriver extends SimpleTaskManagerDriver {
  override readonly name = 'one';
  override readonly schema = {};
  override getProviderConfig = (entry: JsonObject) => readStateMachineProvider(entry, { driverName: 'one' });
  override getAdapter = (config: StateMachineProviderConfig) => new OneInstance(config);
}

const ENTRY = {
  name: 'cloud',
  'cloud-images': [{ name: 'debian' }],
  pools: [{ name: 'main', labels: [{ name: 'small', 'cloud-image': 'debian' }] }],
};

/** Has a provider launch one node. */
async function launch(provider: Provider, config: StateMachineProviderConfig): Promise<LaunchResult> {
  const pool = config.pools.get('main');
  const label = pool?.labels.get('small');
  const request = { ...newRequest({ labels: ['small'] }, 0), id: '100-0000000001' as RequestId };
  if (!pool || !label) throw new Error('there is no label "small"');
  const handler = provider.getRequestHandler(pool, request);
  if (!handler.launch) throw new Error('the provider cannot launch');
  const draft = newNode({ state: 'init', labels: ['small'], provider: 'cloud', pool: 'main' }, 0);
  let node: NodeRecord = {
    ...draft,
    ...handler.setNodeMetadata?.(draft),
    id: '0000000001' as NodeId,
    state: 'building',
  };
  const store = (changes: Partial<NodeRecord>) => {
    node = withNode(node, changes, clock.now(), 'launcher');
    return Promise.resolve(node);
  };
  return handler.launch({ node, pool, label, request, store }, new AbortController().signal);
}

describe('an instance of a simple driver', () => {
  it('keeps loaded data in fields that its class declares', () => {
    const instance = new ListedInstance('i-1').ensureLoaded();

    expect(instance).toMatchObject({ externalId: 'i-1', connectionPort: 2222, zone: 'z1' });
  });

  it('is loaded once', () => {
    const instance = new ListedInstance('i-1').ensureLoaded();
    instance.zone = 'z2';

    expect(instance.ensureLoaded().zone).toBe('z2');
  });
});

describe('the key scan of a simple driver', () => {
  it.each([
    ['has three minutes', {}, 180_000],
    ['has the boot timeout when that is shorter', { 'boot-timeout': 30 }, 30_000],
    ['has the boot timeout when that is longer', { 'boot-timeout': 600 }, 600_000],
  ])('%s', async (_name, settings, timeoutMs) => {
    const limits: number[] = [];
    const ports: number[] = [];
    const scan: typeof scanHostKeys = (options) => {
      limits.push(options.timeoutMs);
      ports.push(options.port);
      return Promise.resolve(['ssh-ed25519 KEY']);
    };
    const driver = new OneInstanceDriver();
    const config = driver.getProviderConfig({ ...ENTRY, ...settings });
    const context = {
      clock,
      logger: silentLogger,
      random: () => 0,
      capacityChanged: () => undefined,
      ownNodes: () => [],
    };
    const provider = driver.getProvider(config, context as unknown as ProviderContext, { scan });

    const { state, node } = await clock.run(launch(provider, config));
    provider.stop();
    await provider.join();

    expect([state, limits]).toEqual(['ready', [timeoutMs]]);
    expect(ports).toEqual([2222]);
    expect(node).toMatchObject({ connectionPort: 2222, username: 'ubuntu' });
  });
});
