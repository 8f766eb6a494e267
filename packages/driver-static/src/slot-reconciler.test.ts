import { describe, expect, it } from 'vitest';
import type { JsonObject, NodeId } from '@nodepool/zk-protocol';
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
