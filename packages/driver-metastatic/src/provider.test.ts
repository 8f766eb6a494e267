import { describe, expect, it } from 'vitest';
import type { NodeRecord } from '@nodepool/zk-protocol';
import { useSlot, useWorld, yamlOf } from '../test/world.js';

const world = useWorld();

describe('a provider that leaves the configuration', () => {
  it('returns unused backing nodes', async () => {
    const yaml = yamlOf({ hosts: 1, label: 'grace-time: 600' });
    const { reconfigure } = await world.launcher(yaml);
    const client = await world.client();
    const slot = await useSlot(client);
    await client.giveBack(slot.id);
    await client.until('the slot is gone', () => client.slots().length === 0);

    await reconfigure(yaml.slice(0, yaml.indexOf('- name: meta')));

    await client.until('the machine is free', () => client.all().length === 1 && client.all()[0]?.state === 'ready');
  });

  it('stays until its last slot is returned, then returns the backing node', async () => {
    const yaml = yamlOf({ hosts: 1, label: 'grace-time: 600' });
    const { launcher, reconfigure } = await world.launcher(yaml);
    const client = await world.client();
    const slot = await useSlot(client);

    await reconfigure(yaml.slice(0, yaml.indexOf('- name: meta')));
    const [draining] = launcher.drainingProviders;
    await client.giveBack(slot.id);
    await client.until('the machine is free', () => client.all().length === 1 && client.all()[0]?.state === 'ready');

    expect(draining).toMatchObject({ provider: 'meta', nodes: 1 });
    expect(launcher.drainingProviders).toEqual([]);
  });

  it('takes over no more backing nodes, and returns requests without a slot', async () => {
    const yaml = yamlOf({ hosts: 1 });
    const { launcher, reconfigure } = await world.launcher(yaml);
    const client = await world.client();
    const [direct] = await client.use(await client.ask(['big']));
    const id = await client.ask(['small']);
    await client.until('a backing node is asked for', () => client.backingRequests().length === 1);

    await reconfigure(yaml.slice(0, yaml.indexOf('- name: meta')));
    await client.until('nothing is left of the launch', () => client.slots().length === 0);
    await client.giveBack((direct as NodeRecord).id);
    await client.until('the machine is free', () => client.all()[0]?.state === 'ready');

    expect(client.backingRequests()).toEqual([]);
    expect(client.requests.get(id)?.state).not.toBe('pending');
    expect(launcher.drainingProviders).toEqual([]);
  });

  it('serves again if it is configured again while it drains', async () => {
    const yaml = yamlOf({ hosts: 1, label: 'grace-time: 600' });
    const { launcher, reconfigure } = await world.launcher(yaml);
    const client = await world.client();
    const slot = await useSlot(client);

    await reconfigure(yaml.slice(0, yaml.indexOf('- name: meta')));
    await reconfigure(yaml);
    const [second] = await client.use(await client.ask(['small']));
    await client.giveBack(slot.id);
    await client.until('the slot is gone', () => client.slots().length === 1);

    expect(second?.driverData).toMatchObject({ backing_node: client.backing()[0]?.id });
    expect(launcher.drainingProviders).toEqual([]);
  });

  it('continues launches if it is only changed', async () => {
    const { reconfigure } = await world.launcher(yamlOf({ hosts: 1 }));
    const client = await world.client();
    const [direct] = await client.use(await client.ask(['big']));
    const id = await client.ask(['small']);
    await client.until('a backing node is asked for', () => client.backingRequests().length === 1);

    await reconfigure(yamlOf({ hosts: 1, label: 'grace-time: 7' }));
    await client.giveBack((direct as NodeRecord).id);
    const [slot] = await client.use(id);

    expect(slot?.state).toBe('ready');
  });
});
