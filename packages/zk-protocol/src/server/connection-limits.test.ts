import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { EmbeddedWorld } from '../../test/server/embedded-world.js';
import type { RawClient } from '../../test/server/raw-client.js';
import { create, exists } from '../../test/server/raw-requests.js';
import { ManualClock } from '../../test/support/manual-clock.js';
import { OpCode } from './model/constants.js';

const world = new EmbeddedWorld();

it('rejects connections beyond the limit', async () => {
  await world.start({ maxClientConnections: 2 });
  const accepted = [await world.open(), await world.open()];

  const refused = await world.open();

  expect(refused.isClosed).toBe(true);
  expect(accepted.map(({ isClosed }) => isClosed)).toEqual([false, false]);
});

it('disconnects clients that do not disconnect after their answer', async () => {
  const clock = new ManualClock();
  await world.start({ clock, maxClientConnections: 3, maxConnectionsPerAddress: 3 });
  const sockets = ['ruok', 'nope', 'srvr'].map((word) => {
    const socket = connect({ port: world.server.port, host: '127.0.0.1', allowHalfOpen: true });
    socket.write(word);
    socket.on('error', () => undefined);
    return socket;
  });
  await Promise.all(sockets.map((socket) => once(socket, 'data')));
  const tooEarly = await world.open();

  clock.advance(5000);
  const inTime = await world.open();
  for (const socket of sockets) socket.destroy();

  expect(tooEarly.isClosed).toBe(true);
  expect(inTime.isClosed).toBe(false);
});

it('limits connections per address, and prefers clients that have logged in', async () => {
  await world.start({ maxClientConnections: 10, login: 'nodepool:secret' });
  const members = [await world.open(), await world.open()];
  for (const member of members) await member.addAuth('digest', 'nodepool:secret');
  const strangers: RawClient[] = [];
  for (let index = 0; index < 6; index++) strangers.push(await world.open());

  const next = await world.open();
  await strangers[0]?.until(() => strangers[0]?.isClosed === true);
  await next.addAuth('digest', 'nodepool:secret');
  await next.call(exists('/'));

  expect(next.takeMessages().at(-1)).toMatchObject({ error: 0 });
  expect(members.some(({ isClosed }) => isClosed)).toBe(false);
  expect(strangers.filter(({ isClosed }) => isClosed)).toHaveLength(1);
});

it('limits the memory for clients that do not read', async () => {
  await world.start({ fsync: false });
  const sleepers = await Promise.all(Array.from({ length: 12 }, () => world.open()));
  for (const sleeper of sleepers) {
    await sleeper.call({
      type: OpCode.addWatch,
      text: 'watch /',
      encode: (writer) => {
        writer.string('/');
        writer.int(1);
      },
    });
    sleeper.pause();
  }
  const writer = await world.open();
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;

  for (let index = 0; index < 25; index++) {
    await writer.call(create(`/${index}${'x'.repeat(1_000_000)}`));
    most = Math.max(most, process.memoryUsage().arrayBuffers - before);
  }

  // Without a limit these are 12 times 25 MB.
  expect(most).toBeLessThan(230 * 1024 * 1024);
  expect(writer.isClosed).toBe(false);
});
