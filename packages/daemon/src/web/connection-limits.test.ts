import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { ConnectionLimits } from './connection-limits.js';

let server: Server;
let accepted: Socket[];
let clients: Socket[];

async function start(isExempt: boolean): Promise<ConnectionLimits> {
  [accepted, clients] = [[], []];
  const limits = new ConnectionLimits(() => isExempt);
  server = createServer((socket) => void accepted.push(socket.resume().on('error', () => {})));
  limits.apply(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return limits;
}
afterEach(async () => {
  for (const client of clients) client.destroy();
  server.close();
  await once(server, 'close');
});

/** Opens connections, one after the other. @returns how many of them the server closed */
async function open(count: number): Promise<number> {
  let closed = 0;
  for (let i = 0; i < count; i++) {
    const known = accepted.length;
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
    clients.push(client);
    await once(server, 'connection');
    if (accepted[known]?.destroyed === true) closed++;
  }
  return closed;
}

it('closes connections of an address beyond 500, until others are gone', async () => {
  await start(false);

  expect(await open(502)).toBe(2);
  const [first] = accepted;
  clients[0]?.destroy();
  if (first) await once(first, 'close');
  expect(await open(2)).toBe(1);
});

it('does not count connections with a valid token, nor those of trusted proxies', async () => {
  const limits = await start(false);
  await open(500);
  for (const socket of accepted.slice(0, 100)) limits.identified(socket);
  const beyond = await open(101);
  for (const client of clients) client.destroy();
  server.close();
  await once(server, 'close');
  await start(true);

  expect([beyond, await open(501)]).toEqual([1, 0]);
});
