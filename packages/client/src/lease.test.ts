import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { LeaseServer } from '../test/lease-server.js';
import { NodepoolClient } from './client.js';
import type { LeaseOptions } from './acquire.js';

async function start(options: LeaseOptions = {}) {
  const server = await LeaseServer.start();
  const client = new NodepoolClient({ url: server.url, retryMs: 1_000 });
  const lease = await client.lease(['small'], options);
  const lost = () =>
    new Promise<Error>((resolve) => {
      if (lease.lost.aborted) resolve(lease.lost.reason as Error);
      else lease.lost.addEventListener('abort', () => resolve(lease.lost.reason as Error), { once: true });
    });
  return { server, lease, lost, client };
}

const renewalsOf = ({ calls }: LeaseServer) => calls.filter(({ line }) => line.endsWith('/renew'));
const renewals = (server: LeaseServer) => renewalsOf(server).length;

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

it('returns the rest when a renewal finds it over because a node is gone', async () => {
  const { server, lost, lease } = await start({ ttlMs: 3_000 });
  await expect.poll(() => server.openStreams).toBe(1);
  server.faults.push({ status: 409, code: 'over' });

  expect((await lost()).message).toBe('Lease lease1 is lost: refused: over');
  await lease.release();
  expect(server.lines.filter((line) => line.startsWith('DELETE'))).toEqual(['DELETE /leases/lease1']);
  expect(server.lease().state).toBe('ended');
});

it('brings fresh certificates with each renewal', async () => {
  const lines: (string | null | undefined)[] = [];
  const { server, lease } = await start({
    ttlMs: 3_000,
    onRenewed: ({ nodes }) => void lines.push(nodes[0]?.certificate),
  });
  expect(lease.nodes).toMatchObject([{ certificate: null, certificateExpires: null }]);

  const nodes = server.lease()['nodes'] as object[];
  const fresh = { certificate: 'ssh-ed25519-cert-v01@openssh.com AAAA', certificate_expires: 1_700_000_600 };
  server.change({ nodes: nodes.map((node) => ({ ...node, ...fresh })) });

  await expect.poll(() => lines).toContain('ssh-ed25519-cert-v01@openssh.com AAAA');
  expect(lease.info.nodes[0]?.certificateExpires).toEqual(new Date(1_700_000_600_000));
});

describe('after sleep of this computer', () => {
  const HOUR_MS = 3_600_000;
  const sleep = () => {
    const before = Date.now;
    vi.spyOn(Date, 'now').mockImplementation(() => before() + HOUR_MS);
    onTestFinished(() => void vi.restoreAllMocks());
  };

  it('is lost at once if the server has ended it', async () => {
    const { server, lost } = await start({ ttlMs: 600_000 });
    await expect.poll(() => server.openStreams).toBe(1);
    server.lease().state = 'ended';
    sleep();

    expect((await lost()).message).toBe('Lease lease1 is lost: it is ended');
  });

  it('is lost if its time is over and the server cannot be asked', async () => {
    const { server, lost } = await start({ ttlMs: 600_000 });
    await server.stop();
    sleep();

    expect((await lost()).message).toContain('lost: its time was over when this computer woke up');
  }, 15_000);

  it('is renewed if the server still has it, as when only the time was set', async () => {
    const { server, lease } = await start({ ttlMs: 600_000 });
    sleep();

    await expect.poll(() => renewals(server), { timeout: 5_000 }).toBeGreaterThan(0);
    expect(lease.lost.aborted).toBe(false);
  });
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

it('is left for its time, although a renewal is on its way', async () => {
  const { server, lease, client } = await start({ ttlMs: 3_000 });
  let answer = () => {};
  server.faults.push(new Promise((resolve) => (answer = resolve)));
  await expect.poll(() => renewals(server)).toBe(1);

  const left = lease.leave(3_600_000);
  await client.get(lease.id); // a call that is sent at once has arrived now
  answer();
  await left;

  expect(renewalsOf(server).map(({ body }) => body['ttl'])).toEqual([3, 3600]);
  expect(server.lease()['ttl']).toBe(3600);
});

it('is never shortened by an automatic renewal', async () => {
  const { server, lease } = await start({ ttlMs: 600 });

  await lease.renew(1_500);
  await expect.poll(() => renewals(server)).toBeGreaterThan(2);
  await lease.release();

  const endsMs = renewalsOf(server).map(({ timeMs, body }) => timeMs + Number(body['ttl']) * 1000);
  expect(endsMs).toEqual(endsMs.toSorted((a, b) => a - b));
});

it('is renewed in time after it was renewed for a shorter time', async () => {
  const { server, lease } = await start({ ttlMs: 60_000 });

  await lease.renew(2_000);
  await expect.poll(() => renewals(server)).toBe(2);

  const [asked, automatic] = renewalsOf(server);
  expect((automatic?.timeMs ?? Infinity) - (asked?.timeMs ?? 0)).toBeLessThan(10_000);
  expect(automatic?.body).toEqual({ ttl: 60 });
});
