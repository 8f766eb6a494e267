import { NodepoolClient } from '@nodepool/client';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { LeaseServer } from '../../../client/test/lease-server.js';
import { createInventory } from '../run/inventory.js';
import { LeaseKey } from './lease-key.js';
import { ServerLease } from './server-lease.js';

async function start(key?: LeaseKey) {
  const server = await LeaseServer.start();
  const client = new NodepoolClient({ url: server.url, retryMs: 200 });
  const place = { url: server.url, token: undefined, ca: undefined, isInsecure: false, options: ' --server URL' };
  return { server, lease: new ServerLease(await client.lease(['small']), place, key, 0) };
}

it('has nodes as ZooKeeper does, as far as the server shows them', async () => {
  const { lease } = await start();

  const [{ node } = {}] = lease.nodes;

  expect(node).toMatchObject({
    id: '0000000001',
    labels: ['small'],
    connectionPort: 22,
    connectionType: 'ssh',
    slot: null,
  });
  expect(createInventory(lease.nodes, '/k')).toMatchObject({
    all: { hosts: { 'small-1': { ansible_host: '192.0.2.7' } } },
  });
});

it('is lost with its lease, and is not returned then', async () => {
  const { server, lease } = await start();
  const lost = new Promise((resolve) => lease.lost.addEventListener('abort', resolve, { once: true }));
  await expect.poll(() => server.openStreams).toBe(1);
  server.change({ state: 'ended', end_reason: 'it expired' });
  await lost;

  expect((lease.lost.reason as Error).message).toBe('The nodes are lost: Lease lease1 is lost: it expired');
});

it('holds its nodes for as long as the server allows', async () => {
  const { server, lease } = await start();
  server.faults.push({ status: 422, code: 'max-hold-age', longest_ttl: 1200 });

  expect(await lease.hold('a person', 3_600_000)).toBe(1_200_000);
  await lease.release();

  expect(server.calls.at(-1)).toMatchObject({ line: 'POST /leases/lease1/renew', body: { ttl: 1200 } });
  expect(lease.endHoldCommand('0000000001')).toBe('nodepool release lease1 --server URL');
});

it('says when nodes that it could not return are returned', async () => {
  const { server, lease } = await start();
  server.faults.push({ status: 401, code: 'bad-token' });

  await expect(lease.release()).rejects.toThrow(
    /^refused: bad-token\..*; the nodes are returned when the lease expires/,
  );
});

it('removes the key that was made for it, unless a person has the nodes', async () => {
  const made = async () => {
    const directory = mkdtempSync(join(tmpdir(), 'nodepool-server-lease-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const { lease } = await start(new LeaseKey('ssh-ed25519 AAAA', join(directory, 'key'), directory));
    return { lease, directory };
  };
  const held = await made();
  expect(held.lease.nodes[0]?.login).toEqual({ identity: join(held.directory, 'key'), certificate: undefined });
  await held.lease.hold('a person', 60_000);
  await held.lease.dispose();
  expect(existsSync(held.directory)).toBe(true);

  const { lease, directory } = await made();
  await lease.dispose();
  expect(existsSync(directory)).toBe(false);
});
