import { encodeRequest, newRequest, requestCreatePath } from '@nodepool/zk-protocol';
import type { RequestId } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { useWorld, yamlOf } from './world.js';
import type { TestClient } from './world.js';

const world = useWorld();

const ended = (client: TestClient) => [...client.requests.values()].filter(({ state }) => state === 'fulfilled');

async function askFor(client: TestClient, tenantName: string, ...labels: string[]): Promise<RequestId> {
  const request = newRequest({ labels, requestor: 'test', tenantName }, Date.now());
  const path = await client.zk.create(requestCreatePath(200), encodeRequest(request), { sequential: true });
  return path.slice(path.lastIndexOf('/') + 1) as RequestId;
}

describe('the limits of a pool without its own quota', () => {
  it('apply max-servers to slots', async () => {
    await world.launcher(yamlOf({ pool: 'max-servers: 2', label: 'grace-time: 600' }));
    const client = await world.client();
    for (let i = 0; i < 5; i++) await client.ask(['small']);

    await client.until('two requests have a slot', () => ended(client).length === 2);
    await client.until('a third waits, accepted', () =>
      [...client.requests.values()].some((request) => request.state === 'pending' && request.requestor === 'test'),
    );

    expect(client.slots()).toHaveLength(2);
  });

  it('assign a slot again when one is returned', async () => {
    await world.launcher(yamlOf({ pool: 'max-servers: 1', label: 'grace-time: 600' }));
    const client = await world.client();
    const [slot] = await client.use(await client.ask(['small']));
    const next = await client.ask(['small']);
    await client.until('the second is accepted and waits', () => client.requests.get(next)?.state === 'pending');

    if (slot) await client.giveBack(slot.id);
    const [second] = await client.use(next);

    expect(second?.id).not.toBe(slot?.id);
  });
});

describe('the limit of a tenant', () => {
  const limitedTo = (maxServers: number, hosts: number): string =>
    `tenant-resource-limits: [{tenant-name: t, max-servers: ${maxServers}}]\n` +
    yamlOf({ hosts, label: 'grace-time: 600' });

  it.each([
    ['slots', 'small'],
    ['hosts', 'big'],
  ])('holds for %s, and other tenants are served', async (_, label) => {
    await world.launcher(limitedTo(1, 3));
    const client = await world.client();
    const [node] = await client.use(await askFor(client, 't', label));

    const second = await askFor(client, 't', label);
    const other = await client.use(await askFor(client, 'another', label));
    expect(other).toHaveLength(1);
    expect(client.requests.get(second)?.state).toBe('requested');

    if (node) await client.giveBack(node.id);
    expect(await client.use(second)).toHaveLength(1);
  });

  it('counts slots and hosts together', async () => {
    await world.launcher(limitedTo(2, 4));
    const client = await world.client();
    const [slot] = await client.use(await askFor(client, 't', 'small'));
    const [host] = await client.use(await askFor(client, 't', 'big'));

    const more = [await askFor(client, 't', 'small'), await askFor(client, 't', 'big')];
    await client.use(await askFor(client, 'another', 'big')); // a launcher that saw this request has seen those as well
    expect([slot?.provider, host?.provider]).toEqual(['meta', 'rack']);
    expect(more.map((id) => client.requests.get(id)?.state)).toEqual(['requested', 'requested']);

    if (slot) await client.giveBack(slot.id);
    await client.until('one of the two is served', () => ended(client).length === 1);
    expect(client.all().filter(({ tenantName }) => tenantName === 't')).toHaveLength(2);
  });
});
