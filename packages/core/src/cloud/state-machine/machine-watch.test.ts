import { newNode, type NodeId, type NodeRecord } from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it } from 'vitest';
import { MemoryCloud } from '../../../test/support/memory-cloud.js';
import { ProviderUnavailableError } from '../../contract/errors.js';
import type { Instance } from '../../contract/instance.js';
import { silentLogger } from '../../contract/logger.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { InstanceList } from '../operations/instance-list.js';
import { UnreadableEntries } from '../operations/unreadable-entries.js';
import { MachineWatch } from './machine-watch.js';

const STOPPED = { state: 'testing', launchState: { start: true } };
let end: (() => void) | undefined;

interface Setting {
  readonly nodes?: readonly Partial<NodeRecord>[];
  readonly features?: { single?: boolean; push?: boolean };
  readonly listLagMs?: number;
  /** A request takes each node before it can be withdrawn. */
  readonly isTaken?: boolean;
  /** Entries of the list besides its instances. */
  readonly unreadable?: readonly unknown[];
}

/** Nodes `0`, `1`, ... with the instances `i-0`, `i-1`, ..., which all run. */
function setUp({ nodes = [{}], features, listLagMs, isTaken = false, unreadable = [] }: Setting = {}) {
  const clock = new VirtualClock();
  const cloud = new MemoryCloud(clock);
  const records = new Map<string, NodeRecord>();
  nodes.forEach((fields, index) => {
    const draft = newNode({ state: 'ready', interfaceIp: `host-${index}`, ...fields }, clock.now());
    records.set(String(index), { ...draft, id: String(index) as NodeId, externalId: `i-${index}` });
    cloud.put({ externalId: `i-${index}`, ready: true });
  });
  const withdrawn: string[] = [];
  const unusable: string[] = [];
  const entries = new UnreadableEntries('sky', { clock, logger: silentLogger });
  const listInstances = async () => [...(await cloud.list()), ...unreadable] as Instance[];
  const adapter = cloud.adapter(features, { listInstances });
  const instances = new InstanceList({
    ...{ source: adapter, clock, logger: silentLogger, random: () => 0.5, entries },
  });
  const watch = new MachineWatch({
    context: {
      ownNodes: () => records.values(),
      nodes: records,
      withdrawNode: (id, why) => Promise.resolve(!isTaken && withdrawn.push(`${id}: ${why}`) > 0 && records.delete(id)),
      nodeUnusable: (id, why) => unusable.push(`${id}: ${why}`),
    },
    ...{ clock, logger: silentLogger, instances, entries, adapter: { ...adapter, listLagMs } },
  });
  end = () => {
    watch.stop();
    instances.stop();
  };
  const broken = (id: number, changes: Partial<Instance>) => cloud.put({ externalId: `i-${id}`, ...changes });
  return { clock, cloud, records, withdrawn, unusable, watch, broken };
}

afterEach(() => {
  end?.();
});

describe('a standby node is withdrawn within a minute', () => {
  it.each<[string, (world: ReturnType<typeof setUp>) => void, RegExp]>([
    ['whose instance is gone', ({ cloud }) => cloud.remove('i-0'), /^0: its instance does not exist/],
    ['whose instance is shown as deleted', ({ broken }) => broken(0, { deleted: true }), /does not exist/],
    ['whose instance is stopped', ({ broken }) => broken(0, { unusable: 'it is SHUTOFF' }), /it is SHUTOFF/],
  ])('%s', async (_what, happen, why) => {
    for (const features of [{}, { single: true }, { single: true, push: true }]) {
      const world = setUp({ nodes: [{}, {}], features });
      world.watch.start();
      await world.clock.advance(61_000);
      happen(world);
      await world.clock.advance(60_000);

      expect(world.withdrawn).toEqual([expect.stringMatching(why)]);
      end?.();
    }
  });

  it('that is stopped and whose instance is gone', async () => {
    const { clock, cloud, withdrawn, watch } = setUp({ nodes: [STOPPED, STOPPED] });
    watch.start();
    cloud.remove('i-1');
    await clock.advance(60_000);

    expect(withdrawn).toEqual([expect.stringMatching(/^1: /)]);
  });

  it('when a launcher starts, before it can be lent', async () => {
    const { clock, broken, withdrawn, watch } = setUp();
    broken(0, { unusable: 'it was preempted' });
    watch.start();
    await clock.advance(1_000);
    const isLent = !watch.isSuspect('0' as NodeId);
    await clock.advance(5_000);

    expect([isLent, withdrawn.length]).toEqual([false, 1]);
  });

  it('which a cloud that pushes changes tells at once', async () => {
    const { clock, cloud, withdrawn, watch } = setUp({ features: { push: true, single: true } });
    watch.start();
    await clock.advance(1_000);
    cloud.remove('i-0');
    await clock.advance(6_000);

    expect(withdrawn).toHaveLength(1);
  });
});

describe('no node is withdrawn', () => {
  it.each([false, true])('because one list is empty (single instances can be read: %s)', async (single) => {
    const { clock, cloud, withdrawn, watch } = setUp({ nodes: [{}, {}, STOPPED], features: { single } });
    watch.start();
    await clock.advance(15_000);
    const all = [...cloud.instances.values()];
    cloud.instances.clear();
    await clock.advance(9_500);
    for (const instance of all) cloud.put(instance);
    await clock.advance(120_000);

    expect(withdrawn).toEqual([]);
  });

  it.each([null, { externalId: 'i-0', metadata: null }])('whose entry in lists may be %j', async (entry) => {
    const { clock, cloud, withdrawn, watch } = setUp({ nodes: [{}, {}], unreadable: [entry] });
    cloud.remove('i-0');
    watch.start();
    await clock.advance(120_000);

    expect(withdrawn).toEqual([]);
  });

  it('that all lists lack, but the cloud knows by its id', async () => {
    const { clock, cloud, withdrawn, watch } = setUp({ nodes: [{}, {}], features: { single: true } });
    cloud.list = () => Promise.resolve([]);
    watch.start();
    await clock.advance(300_000);

    expect(withdrawn).toEqual([]);
  });

  it('that lists leave out, while others that are gone are withdrawn', async () => {
    const { clock, cloud, withdrawn, watch } = setUp({ nodes: [{}, {}, {}], features: { single: true } });
    const list = cloud.list.bind(cloud);
    cloud.list = async () => (await list()).filter(({ externalId }) => externalId !== 'i-0');
    watch.start();
    await clock.advance(60_000);
    cloud.remove('i-2');
    await clock.advance(60_000);
    cloud.failNext('get', new ProviderUnavailableError('it is away'));
    cloud.remove('i-1');
    await clock.advance(60_000);

    expect(withdrawn.map((text) => text[0])).toEqual(['2', '1']);
    expect(cloud.count('get')).toBeLessThan(10);
  });

  it('while the cloud does not answer', async () => {
    const { clock, cloud, withdrawn, watch, broken } = setUp();
    cloud.list = () => Promise.reject(new ProviderUnavailableError('it is away'));
    broken(0, { unusable: 'it is SHUTOFF' });
    watch.start();
    await clock.advance(300_000);

    expect([withdrawn, watch.isSuspect('0' as NodeId)]).toEqual([[], false]);
  });

  it('that lists may not show yet', async () => {
    const { clock, cloud, withdrawn, watch } = setUp({ listLagMs: 60_000 });
    cloud.remove('i-0');
    watch.start();
    await clock.advance(50_000);

    expect(withdrawn).toEqual([]);
  });

  it('whose instance is stopped on purpose, or being started', async () => {
    const { clock, broken, withdrawn, watch } = setUp({
      nodes: [STOPPED, { state: 'building' }, { state: 'testing', launchState: { stopping: true } }],
    });
    for (const id of [0, 1, 2]) broken(id, { unusable: 'it is SHUTOFF' });
    watch.start();
    await clock.advance(300_000);

    expect(withdrawn).toEqual([]);
  });

  it('that was stopped on purpose between the two looks', async () => {
    const { clock, records, broken, withdrawn, watch } = setUp();
    broken(0, { unusable: 'it is SHUTOFF' });
    watch.start();
    await clock.advance(2_000);
    const node = records.get('0');
    if (node) records.set('0', { ...node, ...STOPPED });
    await clock.advance(60_000);

    expect(withdrawn).toEqual([]);
  });
});

it('leaves nodes in use and held nodes to their users, reports them for as long as it is so, and tells others', async () => {
  const { clock, cloud, broken, withdrawn, unusable, watch } = setUp({
    nodes: [{ state: 'in-use' }, { state: 'hold' }, {}],
  });
  watch.start();
  await clock.advance(1_000);
  cloud.remove('i-0');
  broken(1, { unusable: 'it is in status ERROR' });
  await clock.advance(60_000);
  const found = watch.found.map(({ nodeId, why }) => [nodeId, why]);
  cloud.put({ externalId: 'i-0', ready: true });
  broken(1, { unusable: undefined });
  await clock.advance(60_000);

  expect(withdrawn).toEqual([]);
  expect(found).toEqual([
    ['1', expect.stringContaining('ERROR')],
    ['0', expect.stringContaining('does not exist')],
  ]);
  expect(unusable.some((text) => text.startsWith('0: '))).toBe(true);
  expect(watch.found).toEqual([]);
});

it('reports a node that a request takes between the look at its machine and the withdrawal', async () => {
  const { clock, broken, unusable, watch } = setUp({ isTaken: true });
  broken(0, { unusable: 'it was preempted' });
  watch.start();
  await clock.advance(6_000);

  expect(unusable).toEqual(['0: its instance cannot be used: it was preempted']);
});

it('asks nothing without nodes, uses the lists of others, and makes no call for each node', async () => {
  const none = setUp({ nodes: [] });
  none.watch.start();
  await none.clock.advance(300_000);
  end?.();
  const many = setUp({ nodes: new Array<object>(50).fill({}), features: { single: true } });
  many.watch.start();
  await many.clock.advance(300_000);

  expect(none.cloud.calls).toEqual([]);
  expect(many.cloud.count('get')).toBe(0);
  expect(many.cloud.count('list')).toBeLessThanOrEqual(16);
});

it('withdraws the younger of two standby nodes with one address', async () => {
  const { clock, withdrawn, watch } = setUp({
    nodes: [
      { interfaceIp: '192.0.2.7', connectionPort: 22 },
      { interfaceIp: '192.0.2.7', connectionPort: null },
    ],
  });
  watch.start();
  await clock.advance(60_000);

  expect(withdrawn).toEqual([expect.stringMatching(/^1: node 1 \(instance i-1\) and node 0 \(instance i-0\) both/)]);
});
