import { expect, it } from 'vitest';
import { LeaseServer } from '../test/lease-server.js';
import { NodepoolClient } from './client.js';

const TOKEN = 'alice.secret';
const clientOf = ({ url }: LeaseServer) => new NodepoolClient({ url, token: TOKEN });

it('lists, shows, renews and ends leases, with the token', async () => {
  const server = await LeaseServer.start();
  const client = clientOf(server);
  const { id } = await client.lease(['small'], { renew: false });

  expect(await client.list({ state: 'active' })).toMatchObject([{ id, ttlMs: 3_600_000 }]);
  expect(await client.get(id)).toMatchObject({ createdTime: new Date(1_700_000_000_000), position: null });
  await client.renew(id, 60_000);
  expect(await client.release(id)).toMatchObject({ state: 'ended', endReason: 'returned' });

  expect(server.lines).toEqual([
    ...['POST /leases', 'GET /leases?state=active&limit=500', 'GET /leases/lease1', 'POST /leases/lease1/renew'],
    'DELETE /leases/lease1',
  ]);
  expect(server.calls[3]?.body).toEqual({ ttl: 60 });
  expect(new Set(server.calls.map(({ token }) => token))).toEqual(new Set([`Bearer ${TOKEN}`]));
});

it('lists labels, and which of them take a key', async () => {
  const server = await LeaseServer.start();
  server.takesSshKey = true;

  expect(await clientOf(server).labels()).toEqual([
    { label: 'small', takesSshKey: true },
    { label: 'big', takesSshKey: false },
  ]);
});

it.each([
  [{ labels: ['a', 'b&c'] }, '/explain?label=a&label=b%26c'],
  [{ request: '200-1' }, '/explain?request=200-1'],
])('explains %j', async (subject, path) => {
  expect(await clientOf(await LeaseServer.start()).explain(subject)).toEqual({ summary: path });
});

it.each([
  [{ url: 'nl01:8005' }, 'The address "nl01:8005" needs a form like https://nl01:8005'],
  [{ url: 'http://nl01', token: 'two words' }, 'The token is empty or has blanks'],
  [{ url: 'http://nl01', token: '' }, 'The token is empty or has blanks'],
])('refuses %j', (options, message) => {
  expect(() => new NodepoolClient(options)).toThrow(message);
});
