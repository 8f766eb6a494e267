import { expect, it } from 'vitest';
import { EmbeddedWorld } from '../../test/server/embedded-world.js';
import { create, exists } from '../../test/server/raw-requests.js';

const world = new EmbeddedWorld();

it.each(['dump', 'wchc', 'cons', 'stat', 'conf'])(
  'does not answer %s without login if the server has one',
  async (word) => {
    await world.start({ login: 'nodepool:secret' });

    expect(await world.fourLetters(word)).toMatch(/is not answered/);
    expect(await world.fourLetters('ruok')).toBe('imok');
  },
);

it.each([
  ['ruok', /^imok$/],
  ['isro', /^rw$/],
  ['srvr', /Mode: standalone\nNode count: 5\n/],
  ['stat', /sid=0x[0-9a-f]+/],
  ['mntr', /zk_server_state\tstandalone\n[^]*zk_watch_count\t1\n/],
  ['cons', /\/127\.0\.0\.1:\d+/],
  ['dump', /\t\/mine\n/],
  ['wchs', /^1 connections watching 1 paths\nTotal watches:1\n$/],
  ['conf', /dataDir=/],
  ['envi', /zookeeper\.version=/],
  ['nope', /not a command/],
])('answers the four-letter word %s', async (word, expected) => {
  await world.start();
  const client = await world.open();
  await client.call(create('/mine', 1), exists('/mine', true));

  expect(await world.fourLetters(word)).toMatch(expected);
});
