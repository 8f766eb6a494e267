import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { HostLookup } from '@nodepool/core/ssh';
import { systemClock } from '@nodepool/zk-protocol';
import type { NodeId, NodeRecord } from '@nodepool/zk-protocol';
import { allReady, entry, ready, slotsOf, unchecked, useWorlds } from '../test/world.js';

const open = useWorlds();
const signal = new AbortController().signal;

describe('a returned node', () => {
  it('gets its successor in the transaction that deletes it', async () => {
    const { configure, until, write, deleteNode, own } = await open();
    await configure(entry([unchecked('h1', { 'max-parallel-jobs': 2 })]));
    const [first] = await until(allReady(2), 'two slots');
    await write(first?.id as NodeId, { state: 'used' });

    const how = await deleteNode(first?.id as NodeId);

    expect(how).toBe('succeeded');
    expect(slotsOf(own())).toEqual(['h1#0', 'h1#1']);
    expect(own().every((node) => node.state === 'ready' && node.id !== first?.id)).toBe(true);
  });

  it('is registered again if a launcher that does not know the host deletes it', async () => {
    const { configure, until } = await open();
    const stranger = await open();
    await configure(entry([unchecked('h1')]));
    const [record] = await stranger.until(allReady(1), 'the host is registered');

    await stranger.deleteNode(record?.id as NodeId);

    await until((all) => all.length === 1 && all[0]?.id !== record?.id, 'its slot is registered again');
  });

  it('is not registered again once the provider idles', async () => {
    const { configure, until, deleteNode, own } = await open();
    const provider = await configure(entry([unchecked('h1')]));
    const [record] = await until(allReady(1), 'the host is registered');

    provider.idle();
    await deleteNode(record?.id as NodeId);

    expect(own()).toEqual([]);
  });
});

describe('a ready node', () => {
  it('is reused only while its port answers, and is removed after a rejection', async () => {
    const server = createServer((socket) => socket.end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const { configure, until } = await open({
      lookup: () => Promise.resolve({ address: '127.0.0.1', family: 4 }),
    });
    const host = { name: 'win1', labels: ['small'], 'connection-type': 'winrm', 'connection-port': port, timeout: 1 };
    const provider = await configure(entry([host]));
    const [record] = (await until(ready(1), 'the host is registered')) as [NodeRecord];
    const handler = provider.getRequestHandler();
    await expect(handler.checkReusableNode(record, signal)).resolves.toBe(true);

    await new Promise((resolve) => server.close(resolve));
    await expect(handler.checkReusableNode(record, signal)).resolves.toBe(false);
    handler.nodeRejectedNotification(record);

    await until(([node]) => node?.state === 'deleting', 'its record is removed');
  });

  it('of a host without host key checking is reused without contact', async () => {
    const { configure, until } = await open();
    const provider = await configure(entry([unchecked('192.0.2.1')]));
    const [record] = await until(ready(1), 'the host is registered');

    expect(provider.getRequestHandler().checkReusableNode(record as NodeRecord, signal)).toBe(true);
  });

  it('of a host that is not configured is not reused', async () => {
    const { configure, until } = await open();
    const provider = await configure(entry([unchecked('h1')]));
    const [record] = await until(ready(1), 'the host is registered');
    const stranger = { ...(record as NodeRecord), hostname: 'h2' };

    expect(provider.getRequestHandler().checkReusableNode(stranger, signal)).toBe(false);
  });
});

describe('a host whose name has no address', () => {
  // Ends: HostUnusable NameUnresolved
  it('has a condition and explains why its pool cannot serve the label, until the name has one', async () => {
    let isNamed = false;
    const lookup: HostLookup = () =>
      isNamed ? Promise.resolve({ address: '127.0.0.1', family: 4 }) : Promise.reject(new Error('ENOTFOUND'));
    const { configure } = await open({ clock: systemClock, lookup });
    const provider = await configure(entry([{ name: 'web7', labels: ['small'], 'host-key-checking': false }]));

    await expect
      .poll(() => provider.conditions())
      .toMatchObject([
        { reason: 'NameUnresolved', message: 'the name has no address: correct it or add it to the name service' },
      ]);
    expect(provider.blockers('main', 'small')).toEqual([
      expect.stringMatching(/^web7 port 22: the name has no address: .* \(next check at \d{4}-.*Z\)$/),
    ]);
    expect(provider.blockers('main', 'other')).toEqual([]);
    isNamed = true; // the launcher keeps checking
    await expect.poll(() => provider.conditions(), { timeout: 50_000 }).toEqual([]);
  });
});
