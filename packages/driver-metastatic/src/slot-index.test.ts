import { describe, expect, it } from 'vitest';
import { encodeNode, nodeLockPath, nodePath, withNode, ZkLock } from '@nodepool/zk-protocol';
import { useSlot, useWorld, yamlOf } from '../test/world.js';

const world = useWorld();

describe('backing nodes', () => {
  it('are found again after a restart, with their slots', async () => {
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

  it('of the Python implementation are found by their records', async () => {
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
    ['one field', (body: string) => body.replace('"provider":"meta"', '"provider":7')],
    ['all fields', (body: string) => body.slice(0, 9)],
  ])('lend no slot twice whose node another process made and has spoiled: %s', async (_what, spoil) => {
    const yaml = yamlOf({ label: 'grace-time: 600' });
    const first = await world.launcher(yaml);
    const client = await world.client();
    const slot = await useSlot(client);
    await first.stop();
    const [machine] = client.backing();
    if (!machine) throw new Error('no machine');
    const { nodes: _claims, ...userData } = JSON.parse(machine.userData as string) as Record<string, unknown>;
    await client.zk.setData(
      nodePath(machine.id),
      encodeNode(withNode(machine, { userData: JSON.stringify(userData) }, Date.now())),
    );
    const body = (await client.zk.getData(nodePath(slot.id))).data.toString();
    expect(spoil(body)).not.toBe(body);
    await client.zk.setData(nodePath(slot.id), spoil(body));
    await world.launcher(yaml);

    const other = await useSlot(client);

    const { backing_node: host, slot: at } = other.driverData as Record<string, unknown>;
    expect({ host, at }).not.toEqual(slot.driverData);
    expect([host, at]).not.toEqual([machine.id, 0]);
  });

  it.each([
    ['no JSON', 'NodePool:metastatic:meta {'],
    ['no slots', '{"owner": "NodePool:metastatic:meta", "label": "small", "slots": "many"}'],
    [
      'another owner',
      '{"owner": "NodePool:metastatic:other", "label": "small", "slots": 2, "failed": false, "launched": 1}',
    ],
    [
      'a lock of another process',
      '{"owner": "NodePool:metastatic:meta", "label": "small", "slots": 2, "failed": false, "launched": 1}',
    ],
  ])('of other owners are left unchanged: %s', async (_what, userData) => {
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
