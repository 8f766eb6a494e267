import { ConfigError, ProviderUnavailableError } from '@nodepool/core';
import { systemClock } from '@nodepool/zk-protocol';
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
