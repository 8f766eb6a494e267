import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { textOf, type ApiObject } from '@nodepool/openstack';
import { ensureDatabaseId } from '@nodepool/zk-protocol';
import { children, readNode } from '../inventory.js';
import { OpenStackHarness } from './openstack-harness.js';

const PATIENCE_MS = 120_000;
/** Leaks are looked for every minute, and have to be seen twice. */
const TWO_LOOKS_MS = 200_000;
/** Without the id of the database, they prove nothing. */
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

  describe('leftovers', () => {
    it('of Nodepool are found and deleted, and foreign resources are not', async () => {
      const label = { 'flavor-name': 'v1.small', 'boot-from-volume': true, 'volume-size': 1 };
      const port = { network_id: await networkId('private'), device_owner: 'compute:nova', device_id: randomUUID() };
      const foreign = await Promise.all([
        makeServer({ nodepool_provider_name: 'another' }),
        makeFloatingIp('web server'),
        makeVolume({ purpose: 'backup' }),
        makeVolume(TAGS),
        get()
          .api.call('neutron', 'POST', '/v2.0/ports', { port })
          .then((made) => idOf(made, 'port')),
      ]);
      for (const id of foreign) get().foreign.add(id);
      const path = `/v2.0/ports?device_id=${foreign[0]}`;
      await get().until('the foreign server to run', async () => {
        const servers = await get().api.list('nova', '/v2.1/servers/detail', 'servers');
        return servers.some(({ id, status }) => id === foreign[0] && status === 'ACTIVE'); // it has its port from then on
      });
      for (const { id } of await get().api.list('neutron', path, 'ports')) get().foreign.add(textOf(id));
      const ours = { ...TAGS, nodepool_database_id: await ensureDatabaseId(get().zk) };
      await Promise.all([makeServer(ours), makeFloatingIp(JSON.stringify(ours)), makeVolume(ours)]);
      await get().launch(OpenStackHarness.setup({ label }));

      await get().assertClean(TWO_LOOKS_MS);

      const [servers, ips, disks] = await Promise.all([
        get().api.list('nova', '/v2.1/servers', 'servers'),
        get().api.list('neutron', '/v2.0/floatingips', 'floatingips'),
        get().api.list('cinder', await volumes(), 'volumes'),
      ]);
      expect([...servers, ...ips, ...disks].map(({ id }) => id).sort()).toEqual(foreign.slice(0, 4).sort());
    }, 400_000);

    it('when a server is deleted behind our back, is nothing', async () => {
      const zuul = await get().newClient();
      await get().launch(OpenStackHarness.setup());
      const nodes = await zuul.take(await zuul.submit(['small']), PATIENCE_MS);
      await get().api.call('nova', 'DELETE', `/v2.1/servers/${textOf(nodes[0]?.body['external_id'])}`);

      await zuul.giveBack(nodes);

      await expect(get().assertClean(60_000)).resolves.toBeUndefined();
    }, 240_000);

    it('of ports, by a deleted server of Nodepool, are deleted, and no other port', async () => {
      const zuul = await get().newClient();
      const setup = OpenStackHarness.setup({ entry: { 'port-cleanup-interval': 5 } });
      await get().launch(setup);
      const [node] = await zuul.take(await zuul.submit(['small']), PATIENCE_MS);
      const serverId = textOf(node?.body['external_id']);
      const network_id = await networkId('private');
      const makePort = async (device_id: string): Promise<string> => {
        const port = { network_id, device_owner: 'compute:nova', device_id };
        return idOf(await get().api.call('neutron', 'POST', '/v2.0/ports', { port }), 'port');
      };
      const foreign = await makePort(randomUUID());
      get().foreign.add(foreign);
      await get().api.call('nova', 'DELETE', `/v2.1/servers/${serverId}`);
      await get().until('the server to be gone', async () => (await get().servers()).length === 0);
      await makePort(serverId); // as when Nova could not delete it
      if (node) await zuul.giveBack([node]);

      await get().assertClean(TWO_LOOKS_MS);

      const left = await get().api.list('neutron', '/v2.0/ports?device_owner=compute:nova', 'ports');
      expect(left.map(({ id }) => id)).toEqual([foreign]);
    }, 400_000);

    it('by launchers that are killed at each step of a creation, is nothing either', async () => {
      const zuul = await get().newClient();
      const setup = OpenStackHarness.setup({ pool: { networks: ['private'] } });
      for (const [i, step] of killSteps(get()).entries()) {
        for (const [name, value] of Object.entries(step.faults)) await get().cloud.setFault(name, value);
        const launcher = await get().launch(setup, { name: `launcher-${i}` });
        const id = await zuul.submit(['small']);
        await get().until(step.when, step.isThere);
        await launcher.kill();
        await zuul.cancel(id);
      }
      await get().cloud.clearFaults();
      await get().launch(setup, { name: 'the-last' });
      await zuul.finish(await zuul.submit(['small']), PATIENCE_MS);

      await expect(get().assertClean(TWO_LOOKS_MS + 60_000)).resolves.toBeUndefined();
    }, 900_000);
  });
}

interface KillStep {
  /** When the launcher is killed. */
  readonly when: string;
  /** What holds the creation there. */
  readonly faults: Readonly<Record<string, object | number>>;
  readonly isThere: () => Promise<boolean>;
}

/** Whether a node has the id of a server. The launcher deletes meanwhile what the one before it has left. */
async function isAnyStored(zk: OpenStackHarness['zk']): Promise<boolean> {
  const ids = await children(zk, '/nodepool/nodes');
  const nodes = await Promise.all(ids.map((id) => readNode(zk, id)));
  return nodes.some((node) => typeof node === 'object' && typeof node['external_id'] === 'string');
}

/** From before a server is ordered until all is there but the floating IP. */
function killSteps(harness: OpenStackHarness): KillStep[] {
  const { cloud, api } = harness;
  const order = { method: 'POST', times: 1 };
  const lost = { ...order, after: true, status: 502, delay: 60 };
  const ips = async (): Promise<number> => (await api.list('neutron', '/v2.0/floatingips', 'floatingips')).length;
  const isBuilding = ({ status }: ApiObject): boolean => status === 'BUILD';
  return [
    {
      when: 'the order for a server to be on its way',
      faults: { 'http-nova': { ...order, path: '/servers$', delay: 3 } },
      isThere: () => cloud.isFaultUsed('http-nova'),
    },
    {
      when: 'an unknown server',
      faults: { 'http-nova': { ...lost, path: '/servers$' }, 'spawn-delay': 4 },
      isThere: async () => (await cloud.isFaultUsed('http-nova')) && (await harness.servers()).some(isBuilding),
    },
    { when: 'the id of a server to be stored', faults: { 'spawn-delay': 4 }, isThere: () => isAnyStored(harness.zk) },
    {
      when: 'the order for a floating IP to be on its way',
      faults: { 'http-neutron': { ...order, path: '/floatingips$', delay: 3 }, 'spawn-delay': 0 },
      isThere: () => cloud.isFaultUsed('http-neutron'),
    },
    {
      when: 'an unknown floating IP',
      faults: { 'http-neutron': { ...lost, path: '/floatingips$' } },
      isThere: async () => (await cloud.isFaultUsed('http-neutron')) && (await ips()) > 0,
    },
    {
      when: 'a floating IP that is not up yet',
      faults: { 'floating-ip-delay': 30 },
      isThere: async () => (await ips()) > 0,
    },
  ];
}
