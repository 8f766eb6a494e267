import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { textOf, type ApiObject } from '@nodepool/openstack';
import { OpenStackHarness } from './openstack-harness.js';

const PATIENCE_MS = 120_000;
/** Leaks are looked for every minute, and have to be seen twice. */
const TWO_LOOKS_MS = 200_000;
const TAGS = { nodepool_provider_name: 'real', nodepool_node_id: '0000009999', nodepool_pool_name: 'main' };

/** What must not be left, and what must. */
export function leftoverCases(get: () => OpenStackHarness): void {
  const idOf = (answer: ApiObject, key: string): string => textOf((answer[key] as ApiObject)['id']);
  const networkId = async (name: string): Promise<string> =>
    textOf((await get().api.list('neutron', '/v2.0/networks', 'networks')).find((one) => one['name'] === name)?.['id']);

  async function makeServer(metadata: Record<string, string>): Promise<string> {
    const [flavors, images] = await Promise.all([
      get().api.list('nova', '/v2.1/flavors', 'flavors'),
      get().api.list('glance', '/v2/images', 'images'),
    ]);
    const server = {
      ...{ name: 'other', metadata, networks: [{ uuid: await networkId('public') }] },
      flavorRef: textOf(flavors.find(({ name }) => name === 'm1.tiny')?.['id']),
      imageRef: textOf(images[0]?.['id']),
    };
    return idOf(await get().api.call('nova', 'POST', '/v2.1/servers', { server }), 'server');
  }
  const makeFloatingIp = async (description: string): Promise<string> => {
    const floatingip = { floating_network_id: await networkId('floating'), description };
    return idOf(await get().api.call('neutron', 'POST', '/v2.0/floatingips', { floatingip }), 'floatingip');
  };
  const volumes = async (): Promise<string> => `/v3/${await get().api.projectId()}/volumes`;
  const makeVolume = async (metadata: Record<string, string>): Promise<string> =>
    idOf(await get().api.call('cinder', 'POST', await volumes(), { volume: { size: 1, metadata } }), 'volume');

  describe('what is left', () => {
    it('of ours is found and deleted, and nothing of others', async () => {
      const label = { 'flavor-name': 'v1.small', 'boot-from-volume': true, 'volume-size': 1 };
      const port = { network_id: await networkId('private'), device_owner: 'compute:nova', device_id: randomUUID() };
      const foreign = await Promise.all([
        makeServer({ nodepool_provider_name: 'somebody' }),
        makeFloatingIp('web server'),
        makeVolume({ purpose: 'backup' }),
        get()
          .api.call('neutron', 'POST', '/v2.0/ports', { port })
          .then((made) => idOf(made, 'port')),
      ]);
      for (const id of foreign) get().foreign.add(id);
      for (const { id } of await get().api.list('neutron', `/v2.0/ports?device_id=${foreign[0]}`, 'ports'))
        get().foreign.add(textOf(id));
      const mark = JSON.stringify(TAGS);
      await Promise.all([makeServer(TAGS), makeFloatingIp(mark), makeVolume(TAGS)]);
      await get().launch(OpenStackHarness.setup({ label }));

      await get().assertClean(TWO_LOOKS_MS);

      for (const { id } of await get().api.list('neutron', `/v2.0/ports?device_id=${foreign[0]}`, 'ports'))
        get().foreign.add(textOf(id));
      const [servers, ips, disks] = await Promise.all([
        get().api.list('nova', '/v2.1/servers', 'servers'),
        get().api.list('neutron', '/v2.0/floatingips', 'floatingips'),
        get().api.list('cinder', await volumes(), 'volumes'),
      ]);
      expect([...servers, ...ips, ...disks].map(({ id }) => id).sort()).toEqual(foreign.slice(0, 3).sort());
      await Promise.all([
        get().api.call('nova', 'DELETE', `/v2.1/servers/${foreign[0]}`),
        get().api.call('neutron', 'DELETE', `/v2.0/floatingips/${foreign[1]}`),
        get().api.call('cinder', 'DELETE', `${await volumes()}/${foreign[2]}`),
        get().api.call('neutron', 'DELETE', `/v2.0/ports/${foreign[3]}`),
      ]);
      get().foreign.clear();
      await get().assertClean(60_000);
    }, 400_000);

    it('when a server is deleted behind our back, is nothing', async () => {
      const zuul = await get().newClient();
      await get().launch(OpenStackHarness.setup());
      const nodes = await zuul.take(await zuul.submit(['small']), PATIENCE_MS);
      await get().api.call('nova', 'DELETE', `/v2.1/servers/${textOf(nodes[0]?.body['external_id'])}`);

      await zuul.giveBack(nodes);

      await expect(get().assertClean(60_000)).resolves.toBeUndefined();
    }, 240_000);

    it('by a launcher that is killed at any step of a creation, is nothing either', async () => {
      const zuul = await get().newClient();
      const setup = OpenStackHarness.setup({ pool: { networks: ['private'] } });
      await get().cloud.setFault('spawn-delay', 2);
      const ids: string[] = [];
      // while the order is on its way, when it has just been answered, while the server is made, with its floating IP
      for (const [i, afterMs] of [150, 400, 1_200, 3_500, 5_000].entries()) {
        const launcher = await get().launch(setup, { name: `launcher-${i}` });
        ids.push(await zuul.submit(['small']));
        await pause(afterMs);
        await launcher.kill();
      }
      await get().cloud.clearFaults('spawn-delay');
      await get().launch(setup, { name: 'the-last' });

      const nodes = (await Promise.all(ids.map((id) => zuul.take(id, PATIENCE_MS)))).flat();
      await zuul.giveBack(nodes);

      expect(nodes).toHaveLength(ids.length);
      await get().assertClean(TWO_LOOKS_MS + 60_000);
    }, 600_000);
  });
}
