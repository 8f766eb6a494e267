import { describe, expect, it } from 'vitest';
import type { Driver } from '@nodepool/core';
import type { ScanHostKeysOptions } from '@nodepool/core/ssh';
import { driver as staticDriver } from '@nodepool/driver-static';
import { driver, MetastaticProvider } from './index.js';
import type { MetastaticProviderConfig } from './index.js';
import { registryOf } from '@nodepool/core/testing';
import { useWorld, userDataOf, yamlOf } from '../test/world.js';

const world = useWorld();

/** The driver with hosts whose keys are what the function says. */
function scanningWith(scan: (options: ScanHostKeysOptions) => Promise<string[]>) {
  const scanning: Driver = {
    ...driver,
    getProvider: (config, context) => new MetastaticProvider(config as MetastaticProviderConfig, context, scan),
  };
  return registryOf(staticDriver, scanning);
}

describe('host-key-checking', () => {
  it('stores the keys that were read when the slot was assigned', async () => {
    const scanned: string[] = [];
    const registry = scanningWith(({ host }) => {
      scanned.push(host);
      return Promise.resolve([`ssh-ed25519 of-${host}`]);
    });
    await world.launcher(yamlOf({ hosts: 1, pool: 'host-key-checking: true' }), { registry });
    const client = await world.client();

    const [slot] = await client.use(await client.ask(['small']));
    await client.use(await client.ask(['small']));

    expect(slot?.hostKeys).toEqual(['ssh-ed25519 of-fake-0']);
    expect(scanned).toEqual(['fake-0', 'fake-0']);
  });

  it('is off by default', async () => {
    const registry = scanningWith(() => Promise.reject(new Error('the scan is forbidden')));
    await world.launcher(yamlOf({ hosts: 1 }), { registry });
    const client = await world.client();

    const [slot] = await client.use(await client.ask(['small']));

    expect(slot?.state).toBe('ready');
  });

  it('closes a backing node whose keys cannot be read and continues elsewhere, leaving its jobs undisturbed', async () => {
    let broken: string | undefined;
    const registry = scanningWith(({ host }) =>
      host === broken ? Promise.reject(new Error('no answer')) : Promise.resolve(['ssh-ed25519 k']),
    );
    await world.launcher(yamlOf({ hosts: 3, pool: 'host-key-checking: true' }), { registry });
    const client = await world.client();
    const [running] = await client.use(await client.ask(['small']));
    const [first] = client.backing();
    broken = first?.interfaceIp ?? undefined;

    const [slot] = await client.use(await client.ask(['small']));

    expect(slot?.driverData).not.toMatchObject({ backing_node: first?.id });
    await client.until('the failure is stored', () => userDataOf(client, first?.id).includes('"failed": true'));
    expect(client.nodes.get(running?.id ?? '')?.state).toBe('in-use');
    broken = undefined;
    if (running) await client.giveBack(running.id);
    await client.until('it goes once it is empty', () => client.backing().every((node) => node.id !== first?.id));
  });

  it('fails the launch after launch-retries backing nodes', async () => {
    const registry = scanningWith(() => Promise.reject(new Error('no answer')));
    await world.launcher(yamlOf({ hosts: 6, pool: 'host-key-checking: true', provider: 'launch-retries: 2' }), {
      registry,
    });
    const client = await world.client();

    const request = await client.ended(await client.ask(['small']));

    expect(request.state).toBe('failed');
    expect(request.launchError).toContain('no answer');
    await client.until('all machines are free again', () => {
      const all = client.all();
      return all.length === 6 && all.every((node) => node.state === 'ready' && node.userData === null);
    });
  });
});
