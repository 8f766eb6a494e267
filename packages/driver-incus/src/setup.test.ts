import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@nodepool/zk-protocol';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FakeIncus } from '../test/fake/fake-incus.js';
import { incusSetup } from './setup.js';

const { signal } = new AbortController();
let dir: string;
let server: Server;
let address: string;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'incus-setup-'));
  const daemon = new FakeIncus(systemClock);
  const properties = { description: 'Debian 12' };
  daemon.state.images.set('f1', { fingerprint: 'f1', type: 'container', properties, aliases: [{ name: 'debian' }] });
  daemon.state.images.set('f2', { fingerprint: 'f2', type: 'virtual-machine', properties: {}, aliases: [] });
  server = createServer((request, response) => {
    const { status, text } = daemon.handle(request.method ?? '', request.url ?? '', Buffer.alloc(0));
    response.writeHead(status).end(text);
  });
  const path = join(dir, 'socket');
  await new Promise<void>((resolve) => server.listen(path, resolve));
  address = `unix:${path}`;
});
afterEach(() => {
  server.close();
  rmSync(dir, { recursive: true });
});

function choices(key: string) {
  const question = incusSetup.questions.find((each) => each.key === key);
  return question?.choices({ answers: { address }, env: {}, clock: systemClock, signal });
}

it('offers the images and networks of the daemon', async () => {
  expect(await choices('image')).toEqual([
    { value: 'debian', note: 'Debian 12, container' },
    { value: 'f2', note: 'virtual-machine' },
  ]);
  expect(await choices('network')).toEqual([{ value: 'br0' }]);
});

it('writes a provider with one label', () => {
  expect(incusSetup.getEntry({ address, image: 'debian', network: 'br0', username: 'root' }, 'linux')).toEqual({
    address,
    'cloud-images': [{ name: 'linux', 'image-alias': 'debian', username: 'root' }],
    pools: [{ name: 'main', labels: [{ name: 'linux', 'cloud-image': 'linux', network: 'br0' }] }],
  });
  const image = 'a'.repeat(64);
  expect(incusSetup.getEntry({ image, project: 'ci' }, 'linux')).toMatchObject({
    ...{ project: 'ci', 'cloud-images': [{ 'image-fingerprint': image, username: 'root' }] },
  });
});
