import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startZooKeeper } from '@nodepool/test-servers';
import type { ZooKeeperHandle } from '@nodepool/test-servers';
import type { JsonObject, NodeId, NodeRecord } from '@nodepool/zk-protocol';
import { entry, startLauncher } from './launcher-harness.js';
import type { LauncherOptions, TestLauncher } from './launcher-harness.js';

let zookeeper: ZooKeeperHandle;
let chroot = 0;
const launchers: TestLauncher[] = [];

beforeAll(async () => {
  zookeeper = await startZooKeeper();
});
afterAll(() => zookeeper.stop());
beforeEach(() => {
  chroot += 1;
});
afterEach(async () => {
  await Promise.all(launchers.splice(0).map((launcher) => launcher.stop()));
});

/** Hosts named `fake…` and those not checked need no network; others resolve to documentation addresses. */
async function launcher(options: LauncherOptions = {}): Promise<TestLauncher> {
  const started = await startLauncher(`${zookeeper.connectString}/t${chroot}`, {
    lookup: () => Promise.resolve({ address: '192.0.2.7', family: 4 }),
    ...options,
  });
  launchers.push(started);
  return started;
}

const unchecked = (name: string, more: JsonObject = {}): JsonObject => ({
  name,
  labels: ['small'],
  'host-key-checking': false,
  ...more,
});
const ready = (count: number) => (records: NodeRecord[]) =>
  records.length === count && records.every((node) => node.state === 'ready');
const slotsOf = (records: NodeRecord[]) => records.map((node) => `${node.hostname}#${node.slot}`).sort();

describe('registration', () => {
  it('writes every field of the record as the data model says', async () => {
    const { configure, until } = await launcher();

    await configure(
      entry(
        [unchecked('h1.example.com', { 'host-key': 'ssh-rsa AAAA', 'connection-port': 2222, 'shell-type': 'sh' })],
        {
          'node-attributes': { 'executor-zone': 'east' },
        },
      ),
    );
    const [record] = await until(ready(1), 'the host is registered');

    expect(record).toMatchObject({
      state: 'ready',
      provider: 'rack',
      pool: 'main',
      labels: ['small'],
      launcher: 'static driver',
      externalId: 'h1.example.com',
      hostname: 'h1.example.com',
      interfaceIp: 'h1.example.com',
      publicIpv4: '192.0.2.7',
      publicIpv6: null,
      privateIpv4: null,
      username: 'zuul',
      connectionPort: 2222,
      connectionType: 'ssh',
      shellType: 'sh',
      pythonPath: 'auto',
      hostKeys: ['ssh-rsa AAAA'],
      slot: 0,
      attributes: { 'executor-zone': 'east' },
      resources: null,
      allocatedTo: null,
    });
    expect(record?.createdTimeMs).toBe(record?.stateTimeMs);
  });

  it('stores an IPv6 address as such', async () => {
    const { configure, until } = await launcher({
      lookup: () => Promise.resolve({ address: '2001:db8::7', family: 6 }),
    });

    await configure(entry([unchecked('h1.example.com')]));
    const [record] = await until(ready(1), 'the host is registered');

    expect(record).toMatchObject({ publicIpv4: null, publicIpv6: '2001:db8::7' });
  });

  it('registers one record for each slot', async () => {
    const { configure, until } = await launcher();

    await configure(entry([unchecked('h1', { 'max-parallel-jobs': 3 }), unchecked('h2')]));
    const records = await until(ready(4), 'four slots');

    expect(slotsOf(records)).toEqual(['h1#0', 'h1#1', 'h1#2', 'h2#0']);
  });

  it('leaves what a restart finds in order alone', async () => {
    const first = await launcher();
    await first.configure(entry([unchecked('h1', { 'max-parallel-jobs': 2 })]));
    const before = await first.until(ready(2), 'two slots');

    const provider = await first.configure(entry([unchecked('h1', { 'max-parallel-jobs': 2 })]));
    provider.stop();
    await provider.join();

    expect(first.own().map((node) => [node.id, node.stat?.version])).toEqual(
      before.map((node) => [node.id, node.stat?.version]),
    );
  });

  it('never registers a slot twice when two launchers start at once', async () => {
    const both = [await launcher(), await launcher()];
    const hosts = Array.from({ length: 300 }, (_, index) => unchecked(`h${index}`));

    await Promise.all(both.map(({ configure }) => configure(entry(hosts))));
    await Promise.all(both.map(({ until }) => until((records) => records.length >= 300, 'all hosts')));
    await Promise.all(launchers.splice(0).map((each) => each.stop()));
    const after = await launcher();

    expect(after.own()).toHaveLength(300);
    expect(new Set(slotsOf(after.own())).size).toBe(300);
  });

  it('takes away the newer of two records an older launcher made for one slot', async () => {
    const { configure, until, zk } = await launcher();
    await configure(entry([unchecked('h1')]));
    const [record] = await until(ready(1), 'the host is registered');
    const { data } = await zk.getData(`/nodepool/nodes/${record?.id}`);

    await zk.create('/nodepool/nodes/', data, { sequential: true });
    const records = await until((all) => all.some((node) => node.state === 'deleting'), 'one is taken away');

    expect(records.map((node) => node.state)).toEqual(['ready', 'deleting']);
  });

  it('puts records right in the sweep when two name one slot and another slot has none', async () => {
    const { configure, until, own, write } = await launcher();
    const provider = await configure(entry([unchecked('h1', { 'max-parallel-jobs': 3 })]));
    const third = (await until(ready(3), 'three slots')).find(({ slot }) => slot === 2);
    if (third === undefined) throw new Error('the host has no third slot');
    await write(third.id, { slot: 1 });
    expect(slotsOf(own())).toEqual(['h1#0', 'h1#1', 'h1#1']);

    await provider.cleanupLeakedResources();
    const records = await until((all) => ready(3)(all) && all.some(({ slot }) => slot === 2), 'the sweep has seen it');

    expect(slotsOf(records)).toEqual(['h1#0', 'h1#1', 'h1#2']);
  });
});

describe('a change of the configuration', () => {
  async function registered(node: JsonObject) {
    const started = await launcher();
    await started.configure(entry([node]));
    const [record] = await started.until(ready(1), 'the host is registered');
    if (record === undefined) throw new Error('no record');
    return { ...started, id: record.id };
  }

  it('updates free records, pool and attributes included', async () => {
    const { configure, until, id } = await registered(unchecked('h1'));

    await configure({
      name: 'rack',
      pools: [
        {
          name: 'other',
          'node-attributes': { zone: 'west' },
          nodes: [unchecked('h1', { labels: ['big'], 'python-path': '/p', 'connection-type': 'network_cli' })],
        },
      ],
    });
    const [record] = await until(([node]) => node?.pool === 'other', 'the record is updated');

    expect(record).toMatchObject({
      id,
      state: 'ready',
      labels: ['big'],
      pythonPath: '/p',
      connectionType: 'network_cli',
      attributes: { zone: 'west' },
    });
  });

  it('leaves records in use unchanged and updates them when they are free again', async () => {
    const { configure, until, write, id } = await registered(unchecked('h1'));
    await write(id, { allocatedTo: '200-0000000001' as never });
    await configure(entry([unchecked('h1', { labels: ['big'] }), unchecked('h2')]));
    await until((records) => records.some((node) => node.hostname === 'h2'), 'the new host is registered');
    expect((await until(() => true, ''))[0]).toMatchObject({ id, labels: ['small'] });

    await write(id, { allocatedTo: null });

    await until(([node]) => node?.id === id && node.labels[0] === 'big', 'the freed record is updated');
  });

  it('removes free records of hosts that are gone, and keeps those in use', async () => {
    const started = await launcher();
    await started.configure(entry([unchecked('h1'), unchecked('h2')]));
    const [first, second] = await started.until(ready(2), 'two hosts');
    await started.write(second?.id as NodeId, { state: 'in-use' });

    await started.configure(entry([]));

    await started.until(([node]) => node?.state === 'deleting', 'the free one is removed');
    expect(started.own().map((node) => [node.id, node.state])).toEqual([
      [first?.id, 'deleting'],
      [second?.id, 'in-use'],
    ]);
    await expect(started.deleteNode(second?.id as NodeId)).resolves.toBe('notified');
    expect(started.own()).toHaveLength(1);
  });

  it('treats another user name as another host', async () => {
    const { configure, until, id } = await registered(unchecked('h1'));

    await configure(entry([unchecked('h1', { username: 'admin' })]));

    const records = await until((all) => all.length === 2 && all[0]?.state === 'deleting', 'old one out, new one in');
    expect(records[0]?.id).toBe(id);
    expect(records[1]).toMatchObject({ state: 'ready', username: 'admin' });
  });

  it('removes slots the host does not have any more', async () => {
    const started = await launcher();
    await started.configure(entry([unchecked('h1', { 'max-parallel-jobs': 3 })]));
    await started.until(ready(3), 'three slots');

    await started.configure(entry([unchecked('h1', { 'max-parallel-jobs': 1 })]));

    const records = await started.until(
      (all) => all.filter((node) => node.state === 'deleting').length === 2,
      'two go',
    );
    expect(records.filter((node) => node.state === 'ready').map((node) => node.slot)).toEqual([0]);
  });

  it('does not touch a record another process has locked', async () => {
    const started = await registered(unchecked('h1'));
    await started.zk.ensurePath(`/nodepool/nodes/${started.id}/lock`);
    await started.zk.create(`/nodepool/nodes/${started.id}/lock/${'0'.repeat(32)}__lock__`, '', {
      ephemeral: true,
      sequential: true,
    });

    const provider = await started.configure(entry([unchecked('h2')]));
    await started.until((all) => all.length === 2, 'the new host is registered');
    await provider.cleanupLeakedResources();
    provider.stop();
    await provider.join();

    expect(started.nodes.get(started.id)?.state).toBe('ready');
  });
});

describe('a returned node', () => {
  it('gets its successor in the transaction that deletes it', async () => {
    const { configure, until, write, deleteNode, own } = await launcher();
    await configure(entry([unchecked('h1', { 'max-parallel-jobs': 2 })]));
    const [first] = await until(ready(2), 'two slots');
    await write(first?.id as NodeId, { state: 'used' });

    const how = await deleteNode(first?.id as NodeId);

    expect(how).toBe('succeeded');
    expect(slotsOf(own())).toEqual(['h1#0', 'h1#1']);
    expect(own().every((node) => node.state === 'ready' && node.id !== first?.id)).toBe(true);
  });

  it('is registered anew when a launcher that knows nothing of the host deletes it', async () => {
    const { configure, until } = await launcher();
    const stranger = await launcher();
    await configure(entry([unchecked('h1')]));
    const [record] = await stranger.until(ready(1), 'the host is registered');

    await stranger.deleteNode(record?.id as NodeId);

    await until((all) => all.length === 1 && all[0]?.id !== record?.id, 'its slot is registered again');
  });

  it('is not registered any more once the provider idles', async () => {
    const { configure, until, deleteNode, own } = await launcher();
    const provider = await configure(entry([unchecked('h1')]));
    const [record] = await until(ready(1), 'the host is registered');

    provider.idle();
    await deleteNode(record?.id as NodeId);

    expect(own()).toEqual([]);
  });
});
