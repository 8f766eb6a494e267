import { describe, expect, it, vi } from 'vitest';
import { oneProvider } from '../elastic-config.js';
import { SOON_MS } from '../soon.js';
import { useElastic } from '../use-harness.js';
import type { HeldNode, ZuulClient } from '../zuul-client.js';

const get = useElastic();

async function serve(zuul: ZuulClient): Promise<HeldNode[]> {
  const nodes = await zuul.getNodes(['small']);
  await zuul.giveBack(nodes);
  return nodes;
}

describe('a request beyond the quota', () => {
  it('waits, is explained, and is served once a node is deleted', async () => {
    const zuul = await get().newClient();
    const launcher = await get().launch(oneProvider({ maxServers: 1 }, { cloudSettings: { 'delete-time': 0.2 } }));
    const nodes = await zuul.getNodes(['small']);

    const id = await zuul.submit(['small']);
    await zuul.waitForRequest(id, ({ state }) => state === 'pending');
    const behind = await zuul.submit(['small']);
    const explained = (request: string) =>
      vi.waitFor(
        async () => {
          const told = (await launcher.getJson(`/explain?request=${request}`)) as { pools: Record<string, unknown>[] };
          expect(JSON.stringify(told)).toContain('pool-full');
          return told;
        },
        { timeout: SOON_MS, interval: 50 },
      );
    const told = await explained(id);
    const toldBehind = await explained(behind);
    await zuul.giveBack(nodes);
    await zuul.wait(id);
    await zuul.giveBack(await zuul.accept(id));
    await zuul.finish(behind);

    expect(told.pools).toHaveLength(1);
    expect(told.pools[0]).toMatchObject({ provider: 'cloud-one', pool: 'main', rule: 'pool-full' });
    expect(toldBehind.pools[0]).toMatchObject({ rule: 'pool-full' });
    expect(get().cloud.most).toBe(1);
  });

  it('waits while other users occupy the quota, and is served when they leave', async () => {
    const zuul = await get().newClient();
    const leak = () => get().cloud.call('leak', { metadata: { owner: 'another-user' } }) as Promise<{ id: string }>;
    const foreign = await Promise.all([leak(), leak(), leak()]);
    const launcher = await get().launch(oneProvider({}, { cloudSettings: { quota: { instances: 2 } } }));

    const id = await zuul.submit(['small']);
    const why = async () => JSON.stringify(await launcher.getJson(`/explain?request=${id}`));
    await expect.poll(why, { timeout: SOON_MS }).toContain('own nodes use 0, others 3');
    for (const instance of foreign) await get().cloud.call('kill', instance.id);
    await zuul.finish(id);

    expect(get().cloud.most).toBe(3);
  });

  it('fails while other users occupy the quota with `steering: off`, as in the original', async () => {
    const zuul = await get().newClient();
    const leak = () => get().cloud.call('leak', { metadata: { owner: 'another-user' } }) as Promise<{ id: string }>;
    const foreign = await Promise.all([leak(), leak()]);
    const limits = { cloudSettings: { quota: { instances: 2 } } };
    await get().launch(oneProvider({}, { ...limits, more: { steering: false } }));

    const id = await zuul.submit(['small']);

    await zuul.waitForRequest(id, ({ state }) => state === 'failed');
    await zuul.cancel(id);
    for (const instance of foreign) await get().cloud.call('kill', instance.id);
  });
});

describe('two launchers', () => {
  it('of one provider share its max-servers', async () => {
    const setup = oneProvider({ maxServers: 4 });
    await Promise.all([get().launch(setup, { name: 'launcher-a' }), get().launch(setup, { name: 'launcher-b' })]);
    const zuul = await get().newClient();

    await Promise.all(Array.from({ length: 40 }, () => serve(zuul)));

    // both may take the same free capacity at the same moment, but notice each other within a round trip
    expect(get().cloud.most).toBeLessThanOrEqual(8);
  });

  it('of one provider share the quota of its cloud', async () => {
    const setup = oneProvider({}, { cloudSettings: { quota: { instances: 4 } } });
    await Promise.all([get().launch(setup, { name: 'launcher-a' }), get().launch(setup, { name: 'launcher-b' })]);
    const zuul = await get().newClient();

    await Promise.all(Array.from({ length: 40 }, () => serve(zuul)));

    expect(get().cloud.most).toBeLessThanOrEqual(4);
  });
});

describe('two pools', () => {
  it('of one provider both serve requests', async () => {
    const both = [
      { name: 'left', labels: ['small'], maxServers: 1 },
      { name: 'right', labels: ['small'], maxServers: 1 },
    ];
    const zuul = await get().newClient();
    await get().launch({ providers: [{ name: 'cloud-one', pools: both }] });

    const held = [await zuul.getNodes(['small']), await zuul.getNodes(['small'])].flat();
    await zuul.giveBack(held);

    expect(held.map(({ body }) => body.pool).sort()).toEqual(['left', 'right']);
  });
});
