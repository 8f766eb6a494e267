import { expect, it } from 'vitest';
import { LeaseServer } from '../test/lease-server.js';
import { NodepoolClient } from './client.js';
import type { LeaseOptions } from './acquire.js';

async function start(options: LeaseOptions = {}) {
  const server = await LeaseServer.start();
  const lease = await new NodepoolClient({ url: server.url, retryMs: 1_000 }).lease(['small'], options);
  const lost = () =>
    new Promise<Error>((resolve) => {
      if (lease.lost.aborted) resolve(lease.lost.reason as Error);
      else lease.lost.addEventListener('abort', () => resolve(lease.lost.reason as Error), { once: true });
    });
  return { server, lease, lost };
}

const renewals = ({ lines }: LeaseServer) => lines.filter((line) => line.endsWith('/renew')).length;

it('is returned at the end of its block', async () => {
  const { server, lease } = await start();
  {
    await using held = lease;
    expect(held.info.state).toBe('active');
  }
  await lease.release();

  expect(server.lines.filter((line) => line.startsWith('DELETE'))).toHaveLength(1);
  expect(lease.lost.aborted).toBe(false);
});

it('is renewed until it is released', async () => {
  const { server, lease } = await start({ ttlMs: 3_000 });
  await expect.poll(() => renewals(server)).toBeGreaterThan(1);

  await lease.release();

  expect(lease.lost.aborted).toBe(false);
  expect(server.calls.find(({ line }) => line.endsWith('/renew'))?.body).toEqual({ ttl: 3 });
  await expect.poll(() => server.openStreams).toBe(0);
});

it('survives a server that is away for less than its time to live', async () => {
  const { server, lease } = await start({ ttlMs: 9_000 });
  await server.stop();
  await server.listen();

  await expect.poll(() => renewals(server)).toBeGreaterThan(0);

  expect(lease.lost.aborted).toBe(false);
});

it('is lost when the server is away for longer', async () => {
  const { server, lost } = await start({ ttlMs: 200 });

  await server.stop();

  expect(await lost()).toMatchObject({
    ...{ code: 'lease-lost', leaseId: 'lease1' },
    message: expect.stringMatching(/^Lease lease1 is lost: it was not renewed in time/) as string,
  });
});

it('is lost at once when another ends it', async () => {
  const { server, lost, lease } = await start();
  await expect.poll(() => server.openStreams).toBe(1);

  server.change({ state: 'ended', end_reason: 'returned by bob' });

  expect((await lost()).message).toBe('Lease lease1 is lost: returned by bob');
  await lease.release();
  expect(server.lines.filter((line) => line.startsWith('DELETE'))).toEqual([]);
});

it('is lost when a renewal finds it over', async () => {
  const { server, lost } = await start({ ttlMs: 6_000 });
  await expect.poll(() => server.openStreams).toBe(1);
  server.lease().state = 'ended';

  expect((await lost()).message).toBe('Lease lease1 is lost: refused: over');
});

it('reports refused renewals, and is lost when it expires', async () => {
  const refused: string[] = [];
  const { server, lost } = await start({ ttlMs: 300, onRefused: ({ message }) => void refused.push(message) });
  server.faults.push(...Array<{ status: number; code: string }>(50).fill({ status: 401, code: 'bad-token' }));

  expect((await lost()).message).toContain('it was not renewed in time: refused: bad-token');
  expect(refused[0]).toBe('refused: bad-token');
});

it('lasts for a fixed time without renewals', async () => {
  const { server, lost } = await start({ renew: false, ttlMs: 50 });

  expect((await lost()).message).toContain('was not renewed in time');
  expect(server.lines).toEqual(['POST /leases']);
});

it('can be left to itself for a time', async () => {
  const { server, lease } = await start({ ttlMs: 300 });

  await lease.leave(3_600_000);
  await lease.release();

  expect(server.calls.at(-1)).toMatchObject({ line: 'POST /leases/lease1/renew', body: { ttl: 3600 } });
  expect(server.lease().state).toBe('active');
});
