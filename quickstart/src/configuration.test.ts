import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { readConfiguration } from './configuration.js';

let directory = '';
const file = () => join(directory, 'mine.yaml');
const copy = () => join(directory, 'copy.yaml');

beforeEach(async () => (directory = await mkdtemp(join(tmpdir(), 'quickstart-configuration-'))));
afterEach(() => rm(directory, { recursive: true }));

async function read(text: string, ours = new Set<number>()) {
  await writeFile(file(), text);
  return readConfiguration(file(), copy(), ours);
}

async function takePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const rack = (...nodes: object[]) =>
  JSON.stringify({
    labels: [{ name: 'a' }, { name: 'b' }, { name: 'c' }],
    webapp: { port: 0 },
    providers: [{ name: 'rack', driver: 'static', pools: [{ name: 'main', nodes }] }],
  });

it('makes machines only for entries on loopback with the user demo; all others are those of the user', async () => {
  const { hosts, labels, own, slots } = await read(
    rack(
      { name: '127.0.0.1', 'connection-port': 1, username: 'demo', labels: 'c a', 'max-parallel-jobs': 2 },
      { name: '127.0.0.1', username: 'ci', labels: ['b'] },
      { name: 'host1', username: 'demo', labels: ['b', 'a'] },
    ),
    new Set([1]),
  );

  expect(hosts).toEqual([{ port: 1, username: 'demo' }]);
  expect({ labels, own, slots }).toEqual({ labels: ['a', 'c'], own: ['a', 'b'], slots: 2 });
});

it('replaces a port that is taken in a copy, also one that is not written down', async () => {
  const port = await takePort();
  const entry = { name: '127.0.0.1', 'connection-port': port, username: 'demo', labels: 'a' };

  const { hosts, file: used } = await read(rack(entry));

  expect(hosts[0]?.port).not.toBe(port);
  expect(used).toBe(copy());
  expect(await readFile(copy(), 'utf8')).toContain(String(hosts[0]?.port));
});

it('leaves the port of a machine of the user alone, which is taken by its own server', async () => {
  const port = await takePort();

  const { file: used } = await read(rack({ name: '127.0.0.1', 'connection-port': port, username: 'ci', labels: 'a' }));

  expect(used).toBe(file());
});

it.each(['', '[]', 'labels: [', 'text'])('says what is wrong with %j in one line', async (text) => {
  await expect(read(text)).rejects.toThrow(/mine\.yaml: [^\n]+/);
});

it('says that a file is missing', async () => {
  await expect(readConfiguration(file(), copy(), new Set())).rejects.toThrow(/^cannot read the configuration: ENOENT/);
});
