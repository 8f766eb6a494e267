import { describe, expect, it } from 'vitest';
import { NEVER, addServers, serverId, useCloud } from '../../test/support/client.js';
import { clientOf } from '../../test/support/recorded.js';

const { cloud, client } = useCloud();

describe('what a flavor looks like', () => {
  it('is read in both shapes', async () => {
    addServers(cloud(), 1);
    const shown = {
      server: { id: 's', name: 'n', status: 'active', flavor: { original_name: 'm1.large', vcpus: 4, ram: 8192 } },
    };
    cloud().faults.push({
      path: /servers\/new/,
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(shown),
    });
    const api = client();

    const old = await api.compute.server(serverId(0), NEVER);
    const later = await api.compute.server('new', NEVER);

    expect(old?.flavor.id).toBe('f-2');
    expect(later?.flavor).toEqual({ id: undefined, name: 'm1.large', vcpus: 4, ramMib: 8192 });
  });
});

describe('recorded answers', () => {
  it('of a server are read', async () => {
    const server = await clientOf('server').compute.server('x', NEVER);

    expect(server).toMatchObject({ name: 'recorded', status: 'ACTIVE', metadata: { a: 'b' }, zone: 'nova' });
    expect(server?.addresses[0]).toMatchObject({ network: 'private', version: 4, type: 'fixed' });
    expect(server?.hostId).not.toBe('');
    expect(server?.flavor.id).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('of flavors are read', async () => {
    const flavors = await clientOf('flavors').compute.flavors(NEVER);

    expect(flavors.find(({ name }) => name === 'm1.large')).toMatchObject({ vcpus: 4, ramMib: 8_192 });
  });
});
