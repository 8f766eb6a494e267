import { describe, expect, it } from 'vitest';
import { nodePath } from '@nodepool/zk-protocol';
import type { Json, JsonObject, NodeId, NodeRecord, ZooKeeper } from '@nodepool/zk-protocol';
import { allReady, entry, slotsOf, unchecked, useWorlds } from '../test/world.js';

const open = useWorlds();

describe('SlotReconciler', () => {
  it('registers one record for each slot', async () => {
    const { configure, until } = await open();

    await configure(entry([unchecked('h1', { 'max-parallel-jobs': 3 }), unchecked('h2')]));
    const records = await until(allReady(4), 'four slots');

    expect(slotsOf(records)).toEqual(['h1#0', 'h1#1', 'h1#2', 'h2#0']);
  });

  it('writes nothing after a restart if all records are current', async () => {
    const first = await open();
    await first.configure(entry([unchecked('h1', { 'max-parallel-jobs': 2 })]));
    const before = await first.until(allReady(2), 'two slots');

    const provider = await first.configure(entry([unchecked('h1', { 'max-parallel-jobs': 2 })]));
    provider.stop();
    await provider.join();

    expect(first.own().map((node) => [node.id, node.stat?.version])).toEqual(
      before.map((node) => [node.id, node.stat?.version]),
    );
  });

  it('never registers a slot twice when two launchers start at once', async () => {
    const both = [await open(), await open()];
    const hosts = Array.from({ length: 300 }, (_, index) => unchecked(`h${index}`));

    await Promise.all(both.map(({ configure }) => configure(entry(hosts))));
    await Promise.all(both.map(({ until }) => until((records) => records.length >= 300, 'all hosts')));
    await Promise.all(both.map((each) => each.stop()));
    const after = await open();

    expect(after.own()).toHaveLength(300);
    expect(new Set(slotsOf(after.own())).size).toBe(300);
  });

  it('removes the newer of two records that an older launcher created for one slot', async () => {
    const { configure, until, zk } = await open();
    await configure(entry([unchecked('h1')]));
    const [record] = await until(allReady(1), 'the host is registered');
    const { data } = await zk.getData(`/nodepool/nodes/${record?.id}`);

    await zk.create('/nodepool/nodes/', data, { sequential: true });
    const records = await until((all) => all.some((node) => node.state === 'deleting'), 'one is removed');

    expect(records.map((node) => node.state)).toEqual(['ready', 'deleting']);
  });

  it('corrects records in the sweep when two name one slot and another slot has none', async () => {
    const { configure, until, own, write } = await open();
    const provider = await configure(entry([unchecked('h1', { 'max-parallel-jobs': 3 })]));
    const third = (await until(allReady(3), 'three slots')).find(({ slot }) => slot === 2);
    if (third === undefined) throw new Error('the host has no third slot');
    await write(third.id, { slot: 1 });
    expect(slotsOf(own())).toEqual(['h1#0', 'h1#1', 'h1#1']);

    await provider.cleanupLeakedResources();
    const records = await until(
      (all) => allReady(3)(all) && all.some(({ slot }) => slot === 2),
      'the sweep has seen it',
    );

    expect(slotsOf(records)).toEqual(['h1#0', 'h1#1', 'h1#2']);
  });
});

describe('SlotReconciler with a record that cannot be read', () => {
  const rack = entry([unchecked('h1', { 'max-parallel-jobs': 2 }), unchecked('h2')]);

  /** Two hosts whose record of slot h1#1 is spoiled, and a launcher that starts after that. */
  async function spoiled(spoil: (body: string) => string) {
    const first = await open();
    const provider = await first.configure(rack);
    const record = (await first.until(allReady(3), 'three slots')).find(({ slot }) => slot === 1);
    if (record === undefined) throw new Error('the host has no second slot');
    provider.stop();
    await provider.join();
    const path = nodePath(record.id);
    const body = (await first.zk.getData(path)).data.toString();
    await first.zk.setData(path, spoil(body));
    const second = await open();
    const { id } = record;
    return { ...second, id, path, body, zk: first.zk, registered: slotRecords(first.zk) };
  }

  /** Node records in ZooKeeper, whatever their bodies. */
  const slotRecords = (zk: ZooKeeper) => () => zk.getChildren('/nodepool/nodes');
  const withField = (key: string, value: Json) => (body: string) =>
    JSON.stringify({ ...(JSON.parse(body) as JsonObject), [key]: value });
  const cutOff = (body: string) => body.slice(0, body.indexOf('"hostname"'));

  it.each([
    ['cut off', cutOff],
    ['no JSON', () => 'spoiled'],
    ['of a wrong type in a field', withField('launcher', 7)],
    ['of a host that cannot be read', withField('hostname', {})],
    ['of a provider that cannot be read', withField('provider', 7)],
    ['of a slot that cannot be read', withField('slot', 'x')],
  ])('makes no second record for a slot whose record is %s, until that is repaired', async (_what, spoil) => {
    const { configure, context, nodes, id, path, body, zk, until, registered } = await spoiled(spoil);

    const provider = await configure(rack);
    await provider.cleanupLeakedResources();
    await provider.join();
    const blockers = provider.blockers('main', 'small');
    await zk.setData(path, body);
    await until(allReady(3), 'the record is repaired');
    await provider.cleanupLeakedResources();
    await provider.join();

    expect(blockers).toEqual([
      `h1: slot 1 is not registered while the record of node ${id}, which may stand for it, cannot be read`,
    ]);
    expect(nodes.unreadable).toEqual([]);
    expect(await registered()).toHaveLength(3);
    expect(context.nodes.size).toBe(3);
  });

  it('brings the record in line with its configuration once it is repaired', async () => {
    const { configure, path, body, zk, until } = await spoiled(() => '[]');
    const provider = await configure(rack);
    await provider.cleanupLeakedResources();
    await provider.join();
    await zk.setData(path, withField('type', ['former'])(body));
    await until(allReady(3), 'the record is repaired');

    await provider.cleanupLeakedResources();

    const isRight = (all: readonly NodeRecord[]) =>
      all.filter(({ state, labels }) => state === 'ready' && labels[0] === 'small').length === 3;
    await until(isRight, 'the sweep has seen it');
  });

  it('registers the slot once that record is deleted', async () => {
    const { configure, nodes, path, zk, until } = await spoiled(() => '[]');
    const provider = await configure(rack);

    await zk.delete(path);
    await nodes.settle();
    await provider.cleanupLeakedResources();

    expect(slotsOf(await until(allReady(3), 'the slot is registered again'))).toEqual(['h1#0', 'h1#1', 'h2#0']);
  });

  it('registers slots that the record cannot stand for', async () => {
    const { configure, until, id } = await spoiled(withField('launcher', 7));

    await configure(entry([unchecked('h1', { 'max-parallel-jobs': 3 }), unchecked('h2'), unchecked('h3')]));
    const records = await until(allReady(4), 'the others');

    expect(slotsOf(records)).toEqual(['h1#0', 'h1#2', 'h2#0', 'h3#0']);
    expect(records.map((record) => record.id)).not.toContain(id);
  });

  it('registers slots of other providers', async () => {
    const { configure, until } = await spoiled(withField('slot', 'x'));

    await configure({ ...entry([unchecked('h1', { 'max-parallel-jobs': 2 })]), name: 'other' });

    await until((records) => records.filter(({ provider }) => provider === 'other').length === 2, 'both slots');
  });

  it('moves no record to such a slot', async () => {
    const { configure, own, write } = await spoiled(withField('launcher', 7));
    const [zero] = own();
    if (zero === undefined) throw new Error('no record');
    await write(zero.id, { slot: null });
    const provider = await configure(entry([unchecked('h1', { 'max-parallel-jobs': 2 }), unchecked('h2')]));
    await provider.cleanupLeakedResources();
    await provider.join();

    expect(slotsOf(own())).toEqual(['h1#0', 'h2#0']);
  });

  it('takes empty bodies for no records, as other launchers make them', async () => {
    const { configure, until } = await spoiled(() => '');

    await configure(rack);

    expect(slotsOf(await until(allReady(3), 'all slots'))).toEqual(['h1#0', 'h1#1', 'h2#0']);
  });
});

describe('SlotReconciler after a reload', () => {
  async function registered(node: JsonObject) {
    const started = await open();
    await started.configure(entry([node]));
    const [record] = await started.until(allReady(1), 'the host is registered');
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

  it('removes free records of removed hosts, and keeps those in use', async () => {
    const started = await open();
    await started.configure(entry([unchecked('h1'), unchecked('h2')]));
    const [first, second] = await started.until(allReady(2), 'two hosts');
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

  it('removes slots that the host no longer has', async () => {
    const started = await open();
    await started.configure(entry([unchecked('h1', { 'max-parallel-jobs': 3 })]));
    await started.until(allReady(3), 'three slots');

    await started.configure(entry([unchecked('h1', { 'max-parallel-jobs': 1 })]));

    const records = await started.until(
      (all) => all.filter((node) => node.state === 'deleting').length === 2,
      'two go',
    );
    expect(records.filter((node) => node.state === 'ready').map((node) => node.slot)).toEqual([0]);
  });
});
