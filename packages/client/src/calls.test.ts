import { expect, it } from 'vitest';
import { LeaseServer, type Fault } from '../test/lease-server.js';
import { LeaseCalls } from './calls.js';
import { Transport } from './transport.js';

async function start(...faults: Fault[]) {
  const server = await LeaseServer.start();
  server.faults.push(...faults);
  const retries: string[] = [];
  const transport = new Transport({ url: server.url });
  return { server, retries, calls: new LeaseCalls(transport, 1_000, ({ message }) => void retries.push(message)) };
}

it.each<Fault>([
  'reset',
  'answer and reset',
  { status: 503, code: 'starting' },
  { status: 502 },
  { status: 429, code: 'too-fast' },
])('repeats a request after %j, with the same key', async (fault) => {
  const { server, calls, retries } = await start(fault, fault);

  expect(await calls.create({ labels: ['small'], ttl: 60 }, 'key1')).toMatchObject({ id: 'lease1', state: 'active' });

  expect(server.calls.map(({ line, key }) => [line, key])).toEqual(Array(3).fill(['POST /leases', 'key1']));
  expect(retries).toHaveLength(2);
});

it('repeats a change that met another one', async () => {
  const { server, calls } = await start();
  await calls.create({}, 'key');
  server.faults.push({ status: 409, code: 'changed' });

  expect(await calls.end('lease1')).toMatchObject({ state: 'ended' });
});

it.each([
  [
    { status: 401, code: 'bad-token' },
    { name: 'RefusedError', code: 'bad-token', status: 401, message: 'refused: bad-token' },
  ],
  [{ status: 403, code: 'ttl-too-long', longest_ttl: 60 }, { longestTtlMs: 60_000 }],
  [{ status: 404 }, { code: 'not-nodepool' }],
  [{ status: 302 }, { code: 'not-nodepool', status: 302 }],
])('does not repeat a refusal: %j', async (fault, error) => {
  const { server, calls } = await start(fault);

  await expect(calls.get('lease1')).rejects.toMatchObject(error);
  expect(server.lines).toEqual(['GET /leases/lease1']);
});

it('gives up after a while, and says what it tried', async () => {
  const { server, calls, retries } = await start();
  await server.stop();

  await expect(calls.list({})).rejects.toMatchObject({
    code: 'unreachable',
    message: expect.stringMatching(/^Cannot reach http:\/\/127.*ECONNREFUSED/) as string,
  });
  expect(retries.length).toBeGreaterThan(1);
});

it('ends at once when its signal aborts', async () => {
  const { server, calls } = await start();
  await server.stop();
  const reason = new Error('Ctrl-C');

  await expect(calls.get('lease1', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});
