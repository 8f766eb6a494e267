import { describe, expect, it } from 'vitest';
import type { NodeRecord } from '@nodepool/zk-protocol';
import { useSlot, useWorld, yamlOf } from '../test/world.js';

const world = useWorld();

describe('backing requests', () => {
  it('are not duplicated by two launchers', async () => {
    const yaml = yamlOf({ hosts: 8 });
    await Promise.all([world.launcher(yaml), world.launcher(yaml)]);
    const client = await world.client();

    for (let round = 0; round < 4; round++)
      await Promise.all([client.ask(['small'])].map(async (id) => client.use(await id)));

    expect(client.backing()).toHaveLength(1);
  });

  it('are withdrawn if a slot is returned first', async () => {
    await world.launcher(yamlOf({ hosts: 1, label: 'max-parallel-jobs: 1' }).replace('max-parallel-jobs: 4, ', ''));
    const client = await world.client();
    const slot = await useSlot(client);
    const next = await client.ask(['small']);
    await client.until('a second backing node is asked for', () => client.backingRequests().length === 1);

    await client.giveBack(slot.id);
    await client.use(next);

    await client.until('nothing is asked for any more', () => client.backingRequests().length === 0);
  });

  it('are withdrawn with the request that needed them', async () => {
    await world.launcher(yamlOf({ hosts: 1 }));
    const client = await world.client();
    await client.use(await client.ask(['big']));
    const id = await client.ask(['small']);
    await client.until('a backing node is asked for', () => client.backingRequests().length === 1);

    await client.zk.delete(`/nodepool/requests/${id}`);

    await client.until('nothing is left', () => client.backingRequests().length === 0 && client.slots().length === 0);
  });

  it('wait until a node is returned', async () => {
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

it.each([
  ['that waits', false],
  ['whose provider was replaced, that waits', true],
])(
  'returns the request of a launch %s for a machine that no provider launches, as soon as the launcher stops',
  async (_what, isReplaced) => {
    const { launcher, reconfigure } = await world.launcher(yamlOf({ hosts: 1 }));
    const client = await world.client();
    await client.use(await client.ask(['big']));
    const request = await client.ask(['small']);
    await client.until('a backing node is asked for', () => client.backingRequests().length === 1);
    if (isReplaced) await reconfigure(yamlOf({ hosts: 1, label: 'grace-time: 7' }));

    const startedMs = Date.now();
    await launcher.drain(60_000);
    const tookMs = Date.now() - startedMs;

    await client.until('the request waits for others', () => client.requests.get(request)?.state === 'requested');
    expect(client.backingRequests()).toEqual([]);
    expect(tookMs).toBeLessThan(10_000);
  },
);
