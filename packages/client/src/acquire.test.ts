import { expect, it } from 'vitest';
import { LeaseServer } from '../test/lease-server.js';
import { NodepoolClient } from './client.js';
import type { LeaseInfo } from './types.js';

async function start(state: string) {
  const server = await LeaseServer.start();
  server.state = state;
  return { server, client: new NodepoolClient({ url: server.url, retryMs: 1_000 }) };
}

it('asks for nodes that are returned minutes after this process is killed', async () => {
  const { server, client } = await start('active');
  const options = { reason: 'test', priority: 100, owner: 'bob', sshKey: 'ssh-ed25519 AAAA' };

  await client.lease(['small', 'big'], options);

  expect(server.calls[0]?.body).toEqual({
    ...{ labels: ['small', 'big'], ttl: 180, give_up: 180, reason: 'test', priority: 100, owner: 'bob' },
    ssh_key: 'ssh-ed25519 AAAA',
  });
});

it('waits until the lease is active, and says what it waits for', async () => {
  const { server, client } = await start('waiting');
  const progress: LeaseInfo[] = [];
  const onProgress = (lease: LeaseInfo) => {
    progress.push(lease);
    server.change({
      state: progress.length > 1 ? 'active' : 'waiting',
      explanation: { summary: 'at quota' },
      position: 3,
    });
  };

  const lease = await client.lease(['small'], { onProgress });

  expect(lease.nodes).toMatchObject([{ host: '192.0.2.7', knownHosts: ['192.0.2.7 ssh-ed25519 AAAA'], slot: null }]);
  expect(progress.map(({ summary, position }) => [summary, position])).toEqual([
    [null, null],
    ['at quota', 3],
  ]);
  expect(server.lines.slice(0, 2)).toEqual(['POST /leases', 'GET /leases/lease1?wait=2']);
});

it.each([
  ['failed', 'lease-failed', 'Lease lease1 of small failed: no pool has it'],
  ['ended', 'lease-ended', 'Lease lease1 of small ended before it had nodes: no pool has it'],
])('reports a lease that is %s', async (state, code, message) => {
  const { server, client } = await start('waiting');
  const onProgress = () => server.change({ state, end_reason: 'no pool has it' });

  await expect(client.lease(['small'], { onProgress })).rejects.toMatchObject({ code, message, leaseId: 'lease1' });
});

it('ends the lease when the wait is cancelled', async () => {
  const { server, client } = await start('waiting');
  const abort = new AbortController();
  const reason = new Error('Ctrl-C');
  const leasing = client.lease(['small'], { signal: abort.signal, onProgress: () => abort.abort(reason) });

  await expect(leasing).rejects.toBe(reason);

  expect(server.lease().state).toBe('ended');
});

it('ends the lease when it is cancelled before the server has answered', async () => {
  const { server, client } = await start('waiting');
  server.faults.push('answer and reset', 'answer and reset');
  const abort = new AbortController();
  const leasing = client.lease(['small'], { signal: abort.signal });
  await expect.poll(() => server.lines.length).toBeGreaterThan(0);
  abort.abort(new Error('Ctrl-C'));

  await expect(leasing).rejects.toThrow('Ctrl-C');

  expect(server.lease().state).toBe('ended');
});

it('keeps its place while the server is away', async () => {
  const { server, client } = await start('waiting');
  let isStopped = false;
  const onProgress = () => {
    if (isStopped) return;
    isStopped = true;
    server.change({ state: 'active' });
    void server.stop().then(() => server.listen());
  };

  expect((await client.lease(['small'], { onProgress })).id).toBe('lease1');
});

it('requests it again, as a new lease each time, while nodes of earlier leases are being deleted', async () => {
  const { server } = await start('active');
  const retries: string[] = [];
  const onRetry = ({ message }: Error) => void retries.push(message);
  const client = new NodepoolClient({ url: server.url, retryMs: 0, onRetry });
  const refusal = { status: 429, code: 'nodes-being-deleted' };
  server.faults.push(refusal, refusal);

  const lease = await client.lease(['small'], { renew: false, giveUpMs: 60_000 });

  const [first, , last] = server.calls;
  expect(lease.id).toBe('lease1');
  expect(retries).toEqual(Array(2).fill('refused: nodes-being-deleted'));
  expect(new Set(server.calls.map(({ key }) => key)).size).toBe(3);
  expect(Number(last?.body['give_up'])).toBeLessThan(Number(first?.body['give_up']) - 1);
});

it('gives up when nodes of earlier leases are still being deleted at the end of its time, or when it is cancelled', async () => {
  const { server, client } = await start('active');
  const refusal = { status: 429, code: 'nodes-being-deleted' };
  server.faults.push(...Array<typeof refusal>(3).fill(refusal));

  await expect(client.lease(['small'], { giveUpMs: 100 })).rejects.toMatchObject({ code: 'nodes-being-deleted' });
  const abort = new AbortController();
  const leasing = client.lease(['small'], { signal: abort.signal });
  await expect.poll(() => server.faults.length).toBe(0);
  abort.abort(new Error('Ctrl-C'));

  await expect(leasing).rejects.toThrow('Ctrl-C');
  expect(server.lines).toEqual(Array(3).fill('POST /leases'));
});

it('shortens its own time to live to what the server allows, but not one that was asked for', async () => {
  const { server, client } = await start('active');
  const refusal = { status: 403, code: 'ttl-too-long', longest_ttl: 60 };
  server.faults.push(refusal, refusal);

  await expect(client.lease(['small'], { ttlMs: 90_000 })).rejects.toMatchObject({ code: 'ttl-too-long' });
  await client.lease(['small']);

  expect(server.calls.map(({ body }) => body['ttl'])).toEqual([90, 180, 60]);
});
