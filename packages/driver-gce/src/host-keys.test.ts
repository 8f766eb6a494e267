import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import ssh2 from 'ssh2';
import { afterEach, expect, it } from 'vitest';
import { World, type WorldOptions } from '../test/world.js';

const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface HostKey {
  readonly secret: string;
  /** `ssh-ed25519 AAAA...` */
  readonly line: string;
}

function newKey(): HostKey {
  const { private: secret, public: line } = ssh2.utils.generateKeyPairSync('ed25519');
  return { secret, line: line.split(' ').slice(0, 2).join(' ') };
}

/** An SSH server with this key. */
async function serve(key: HostKey, port = 0): Promise<{ port: number; stop: () => Promise<void> }> {
  const server = new ssh2.Server({ hostKeys: [key.secret] }, (client) => client.on('error', () => undefined));
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= new Promise<void>((resolve) => void server.close(() => resolve())));
  closing.push(stop);
  return { port: (server.address() as AddressInfo).port, stop };
}

async function start(port: number, options: WorldOptions = {}): Promise<World> {
  const image = { 'image-id': 'projects/p/global/images/mine', username: 'zuul', 'connection-port': port };
  const world = await World.start({
    cloud: { addressOf: () => '127.0.0.1' },
    entry: { 'cloud-images': [{ name: 'debian', ...image }], ...options.entry },
    pool: { 'host-key-checking': true, 'host-key-source': 'guest-attributes' },
  });
  closing.push(() => world.end());
  return world;
}

const publish = (world: World, { line }: HostKey): void => {
  const [type = '', key = ''] = line.split(' ');
  for (const instance of world.fake.instances) instance.guestAttributes = { [type]: key };
};

it('never stores the key of the image, which is replaced seconds after the first boot', async () => {
  const baked = newKey();
  const own = newKey();
  const early = await serve(baked);
  const world = await start(early.port);
  const stored: unknown[] = [];
  world.onStore = ({ hostKeys }) => stored.push(...(hostKeys ?? []));

  let isReady = false;
  const launching = world.launch().finally(() => (isReady = true));
  await expect.poll(() => world.fake.countOf('Instances.GetGuestAttributes')).toBeGreaterThan(0);
  publish(world, own); // the agent has made a key; the server has not been started again
  const asked = world.fake.countOf('Instances.GetGuestAttributes');
  await expect.poll(() => world.fake.countOf('Instances.GetGuestAttributes')).toBeGreaterThan(asked + 1);
  const wasReady = isReady;
  await early.stop();
  await serve(own, early.port);
  const { state, node } = await launching;

  expect([wasReady, state]).toEqual([false, 'ready']);
  expect(node.hostKeys).toEqual([own.line]);
  expect(new Set(stored)).toEqual(new Set([own.line]));
});

it('stores nothing of what a guest publishes but keys', async () => {
  const own = newKey();
  const { port } = await serve(own);
  const world = await start(port);

  const launching = world.launch();
  await expect.poll(() => world.fake.countOf('Instances.GetGuestAttributes')).toBeGreaterThan(0);
  for (const instance of world.fake.instances) {
    const [type = '', key = ''] = own.line.split(' ');
    const more = {
      '\u001b]0;owned\u0007': 'AAAA',
      '@cert-authority *': 'ssh-rsa AAAA',
      'ssh-rsa': 'AAAA\n* ssh-rsa AAAA',
    };
    instance.guestAttributes = { [type]: key, ...more };
  }
  const { state, node } = await launching;

  expect([state, node.hostKeys]).toEqual(['ready', [own.line]]);
});

it('gives up on an image that publishes none', async () => {
  const { port } = await serve(newKey());
  const world = await start(port, { entry: { 'boot-timeout': 1, 'launch-retries': 1 } });

  const { state, error } = await world.launch();

  expect(state).toBe('failed');
  expect(String(error)).toMatch(/published no host keys.*guest agent/);
});
