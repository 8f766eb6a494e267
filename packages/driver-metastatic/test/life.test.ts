import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { encodeNode, nodeLockPath, nodePath, withNode, ZkLock } from '@nodepool/zk-protocol';
import type { NodeRecord } from '@nodepool/zk-protocol';
import type { Driver, Provider } from '@nodepool/core';
import { registryOf } from '@nodepool/core/testing';
import { driver as staticDriver } from '@nodepool/driver-static';
import { driver } from '../src/index.js';
import { startWorld, userDataOf, yamlOf } from './harness.js';
import type { TestClient, World } from './harness.js';

let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world.stop());

async function useSlot(client: TestClient): Promise<NodeRecord> {
  const [slot] = await client.use(await client.ask(['small']));
  if (!slot) throw new Error('the request has no node');
  return slot;
}

describe('a slot that comes back', () => {
  it('is given out again at once', async () => {
    await world.launcher(yamlOf({ hosts: 1, label: 'max-parallel-jobs: 1' }).replace('max-parallel-jobs: 4, ', ''));
    const client = await world.client();
    const slot = await useSlot(client);
    const next = await client.ask(['small']);
    await client.until('the second launch waits', () => client.slots().some((node) => node.state === 'building'));

    await client.giveBack(slot.id);
    const begin = performance.now();
    const [second] = await client.use(next);

    expect(performance.now() - begin).toBeLessThan(20_000); // not at a sweep
    expect(second?.driverData).toMatchObject({ slot: 0 });
    expect(client.backing()).toHaveLength(1);
  });

  it('withdraws the backing request that waited for it', async () => {
    await world.launcher(yamlOf({ hosts: 1, label: 'max-parallel-jobs: 1' }).replace('max-parallel-jobs: 4, ', ''));
    const client = await world.client();
    const slot = await useSlot(client);
    const next = await client.ask(['small']);
    await client.until('a second backing node is asked for', () => client.backingRequests().length === 1);

    await client.giveBack(slot.id);
    await client.use(next);

    await client.until('nothing is asked for any more', () => client.backingRequests().length === 0);
  });
});

describe('backing nodes', () => {
  it('are given back after grace-time, and never under a slot in use', async () => {
    await world.launcher(yamlOf({ label: 'grace-time: 0' }));
    const client = await world.client();
    const [one, two] = [await useSlot(client), await useSlot(client)];

    await client.giveBack(one.id);
    await client.until('the first slot is gone', () => client.nodes.get(one.id) === undefined);
    expect(client.backing()).toHaveLength(1);
    await client.giveBack(two.id);

    await client.until(
      'every machine is free',
      () => client.all().length === 4 && client.all().every((node) => node.state === 'ready'),
    );
  });

  it('stay for min-retention-time', async () => {
    await world.launcher(yamlOf({ label: 'grace-time: 0, min-retention-time: 2' }));
    const client = await world.client();
    const slot = await useSlot(client);
    const launched = Number(/"launched": ([\d.]+)/.exec(userDataOf(client, client.backing()[0]?.id))?.[1]) * 1000;

    await client.giveBack(slot.id);
    await client.until('the backing node is given back', () => client.backing().length === 0);

    expect(Date.now() - launched).toBeGreaterThanOrEqual(2_000);
  });

  it('are as old as the request for them, however long they took to come', async () => {
    await world.launcher(yamlOf({ hosts: 1, label: 'grace-time: 600' }));
    const client = await world.client();
    const [host] = await client.use(await client.ask(['big']));
    const id = await client.ask(['small']);
    const asked = await client.until('a backing node is asked for', () => client.backingRequests()[0]);

    await client.giveBack((host as NodeRecord).id);
    const [slot] = await client.use(id);

    const place = slot?.driverData as { backing_node: string };
    const launched = Number(/"launched": ([\d.]+)/.exec(userDataOf(client, place.backing_node))?.[1]);
    expect(launched * 1000).toBe(asked.stat?.ctime);
  });

  it('get no more jobs after max-age and go when they are empty', async () => {
    await world.launcher(yamlOf({ label: 'grace-time: 600, max-age: 1' }));
    const client = await world.client();
    const slot = await useSlot(client);
    const [old] = client.backing();
    await new Promise((resolve) => setTimeout(resolve, 1_100)); // max-age has whole seconds only

    const other = await useSlot(client);
    await client.giveBack(slot.id);

    expect(other.driverData).not.toMatchObject({ backing_node: old?.id });
    await client.until('the old one goes', () => client.backing().every((node) => node.id !== old?.id));
  });

  it('are known again after a restart, with their slots', async () => {
    const yaml = yamlOf({ label: 'grace-time: 600' });
    const first = await world.launcher(yaml);
    const client = await world.client();
    const slot = await useSlot(client);
    await first.stop();
    await world.launcher(yaml);

    const other = await useSlot(client);

    expect(client.backing()).toHaveLength(1);
    expect(other.driverData).toMatchObject({ slot: 1 });
    expect(slot.driverData).toMatchObject({ slot: 0 });
  });

  it('that Nodepool itself took are known by their records', async () => {
    const client = await world.client();
    await world.session();
    const launcher = await world.launcher(yamlOf({ hosts: 2, label: 'grace-time: 600' }));
    await client.until('machines are there', () => client.all().length === 2);
    await launcher.stop();
    const [machine] = client.all();
    if (!machine) throw new Error('no machine');
    const userData =
      '{"owner": "NodePool:metastatic:meta", "label": "small", "slots": 2, "failed": false, "launched": 1726599950.25}';
    await client.zk.setData(
      nodePath(machine.id),
      encodeNode(withNode(machine, { state: 'in-use', userData }, Date.now())),
    );
    const lock = new ZkLock(client.zk, nodeLockPath(machine.id), {
      ephemeral: false,
      identifier: 'NodePool:metastatic:meta',
    });
    await lock.acquire();
    await world.launcher(yamlOf({ hosts: 2, label: 'grace-time: 600' }));

    const slot = await useSlot(client);

    expect(slot.driverData).toMatchObject({ backing_node: machine.id, slot: 0 });
    expect(client.backing()).toHaveLength(1);
  });

  it.each([
    ['no JSON', 'NodePool:metastatic:meta {'],
    ['no slots', '{"owner": "NodePool:metastatic:meta", "label": "small", "slots": "many"}'],
    [
      'another owner',
      '{"owner": "NodePool:metastatic:other", "label": "small", "slots": 2, "failed": false, "launched": 1}',
    ],
    [
      'a lock of somebody else',
      '{"owner": "NodePool:metastatic:meta", "label": "small", "slots": 2, "failed": false, "launched": 1}',
    ],
  ])('with a user_data of others are kept: %s', async (_what, userData) => {
    const client = await world.client();
    await world.launcher(yamlOf({ hosts: 2, label: 'grace-time: 0' }));
    await client.until('machines are there', () => client.all().length === 2);
    const [machine] = client.all();
    if (!machine) throw new Error('no machine');
    await new ZkLock(client.zk, nodeLockPath(machine.id)).acquire();
    await client.zk.setData(
      nodePath(machine.id),
      encodeNode(withNode(machine, { state: 'in-use', userData }, Date.now())),
    );

    const slot = await useSlot(client);

    expect(slot.driverData).not.toMatchObject({ backing_node: machine.id });
    expect(client.nodes.get(machine.id)).toMatchObject({ state: 'in-use', userData });
  });
});

describe('a backing label', () => {
  it('that all refuse is a condition of the label, until one is given', async () => {
    const made: Provider[] = [];
    const getProvider: Driver['getProvider'] = (config, context) => {
      const provider = driver.getProvider(config, context);
      made.push(provider);
      return provider;
    };
    const registry = registryOf(staticDriver, { ...driver, getProvider });
    const yaml = yamlOf({ label: 'grace-time: 600' }).replace('[{name: big},', '[{name: big}, {name: none},');
    const { reconfigure } = await world.launcher(yaml.replaceAll('labels: [big]', 'labels: [none]'), { registry });
    const client = await world.client();
    await client.ended(await client.ask(['small']));
    const refused = made[0]?.conditions?.();
    await reconfigure(yaml);
    await useSlot(client);

    expect(refused).toMatchObject([
      { kind: 'label', name: 'meta/main/small', type: 'LabelUnusable', reason: 'BackingLabelRefused' },
    ]);
    expect(refused?.[0]).toMatchObject({
      nextStep: 'nodepool explain --label big',
      evidence: { backingLabel: 'big' },
    });
    expect(made.flatMap((provider) => provider.conditions?.() ?? [])).toEqual([]);
  });

  it('that no pool has fails the request', async () => {
    await world.launcher(yamlOf({}).replace('backing-label: big', 'backing-label: nowhere'));
    const client = await world.client();

    const request = await client.ended(await client.ask(['small']));

    expect(request.state).toBe('failed');
    expect(request.launchError).toContain('backing label "nowhere"');
    await client.until('nothing is left', () => client.backingRequests().length === 0 && client.slots().length === 0);
  });

  it('is waited for until somebody returns one', async () => {
    await world.launcher(
      yamlOf({ hosts: 1, label: 'grace-time: 0', more: ['name: other, backing-label: huge, max-parallel-jobs: 1'] }),
    );
    const client = await world.client();
    const [direct] = await client.use(await client.ask(['big']));
    const id = await client.ask(['small']);
    await client.until('a backing node is asked for', () => client.backingRequests().length === 1);

    await client.giveBack((direct as NodeRecord).id);
    const [slot] = await client.use(id);

    expect(slot?.state).toBe('ready');
  });
});

describe('a request that is withdrawn', () => {
  it('takes its backing request with it', async () => {
    await world.launcher(yamlOf({ hosts: 1 }));
    const client = await world.client();
    await client.use(await client.ask(['big']));
    const id = await client.ask(['small']);
    await client.until('a backing node is asked for', () => client.backingRequests().length === 1);

    await client.zk.delete(`/nodepool/requests/${id}`);

    await client.until('nothing is left', () => client.backingRequests().length === 0 && client.slots().length === 0);
  });
});

describe('a provider that leaves the configuration', () => {
  it('gives back what is not in use', async () => {
    const yaml = yamlOf({ hosts: 1, label: 'grace-time: 600' });
    const { reconfigure } = await world.launcher(yaml);
    const client = await world.client();
    const slot = await useSlot(client);
    await client.giveBack(slot.id);
    await client.until('the slot is gone', () => client.slots().length === 0);

    await reconfigure(yaml.slice(0, yaml.indexOf('- name: meta')));

    await client.until('the machine is free', () => client.all().length === 1 && client.all()[0]?.state === 'ready');
  });

  it('stays until the last slot has ended, and gives the backing node back then', async () => {
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

  it('takes no backing node any more, and puts requests without a slot back', async () => {
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

  it('is taken up again when it comes back while it drains', async () => {
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

  it('continues launches when it is only changed', async () => {
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
