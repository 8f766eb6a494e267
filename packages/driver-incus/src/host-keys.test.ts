import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { ConfigError, ProviderUnavailableError } from '@nodepool/core';
import { delay, systemClock } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { SIGNAL } from '../test/support/daemon.js';
import { readHostKeys, type HostKeysOptions } from './host-keys.js';
import { toInstance } from './instance.js';

// a name with "fake" in it is not contacted
const instance = {
  ...toInstance({ name: 'a', type: 'container', status: 'Running', config: {} }, 'LXD'),
  interfaceIp: 'fake',
};

function read(readFile: HostKeysOptions['client']['readFile'], connectionType = 'ssh') {
  const options = { client: { readFile }, clock: systemClock, port: 22, connectionType, timeoutMs: 1_000 };
  return readHostKeys(instance, options, SIGNAL);
}

it('reads each type of key, without its comment', async () => {
  const keys = await read((_name, path) =>
    Promise.resolve(
      path.includes('ed25519') ? 'ssh-ed25519 AAAA root@a\n' : path.includes('rsa') ? 'ssh-rsa BBBB\n' : undefined,
    ),
  );

  expect(keys).toEqual(['ssh-ed25519 AAAA', 'ssh-rsa BBBB']);
});

it('has none where there are no files, no agent or no SSH', async () => {
  const noAgent = () => Promise.reject(new ConfigError("500: LXD VM agent isn't currently running"));

  expect(await read(() => Promise.resolve(undefined))).toBeUndefined();
  expect(await read(noAgent)).toBeUndefined();
  expect(await read(() => Promise.resolve('ssh-rsa BBBB'), 'winrm')).toBeUndefined();
});

it('trusts no scan instead because the daemon does not answer', async () => {
  await expect(read(() => Promise.reject(new ProviderUnavailableError('no answer')))).rejects.toThrow('no answer');
});

it('reads them once the SSH server answers, as the first boot may make them', async () => {
  const server = createServer();
  const read: string[] = [];
  const client = { readFile: (_name: string, path: string) => Promise.resolve(void read.push(path)) };
  const { port } = await new Promise<AddressInfo>((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const address = probe.address() as AddressInfo;
      probe.close(() => resolve(address));
    });
  });
  const options = { client, clock: systemClock, port, connectionType: 'ssh', timeoutMs: 60_000 };
  const reading = readHostKeys({ ...instance, interfaceIp: '127.0.0.1' }, options, SIGNAL);
  await delay(systemClock, 50);
  expect(read).toEqual([]);

  await once(server.listen(port, '127.0.0.1'), 'listening');
  await reading;
  server.close();

  expect(read).toHaveLength(3);
});

it('fails when the SSH server never answers', async () => {
  const client = { readFile: () => Promise.reject(new Error('it must not be read')) };
  const options = { client, clock: systemClock, port: 1, connectionType: 'ssh', timeoutMs: 50 };

  await expect(readHostKeys({ ...instance, interfaceIp: '127.0.0.1' }, options, SIGNAL)).rejects.toThrow(
    /within 50 ms/,
  );
});
