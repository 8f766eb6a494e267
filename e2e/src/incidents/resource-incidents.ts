import { setTimeout as pause } from 'node:timers/promises';
import { textOf, type ApiObject } from '@nodepool/openstack';
import { ensureDatabaseId } from '@nodepool/zk-protocol';
import { OpenStackHarness } from '../openstack/openstack-harness.js';
import type { Incident } from './incident.js';
import type { Stage } from './stage.js';

const IMAGE = 'incident-image';
const FLAVOR = { name: 'm1.incident', vcpus: 1, ram: 512, disk: 1 };
const NETWORK = 'incident-network';
const SUBNET = { cidr: '127.80.0.0/29', ip_version: 4, enable_dhcp: false };
/** As launchers look for limits again in this time. */
const LIMITS_MS = 40_000;

const images = { 'cloud-images': [{ name: 'test', 'image-name': IMAGE, username: 'zuul', 'connection-port': 'ssh' }] };

/** Resources of the cloud are short, missing, or others than those that were ordered. */
export const RESOURCE_INCIDENTS: readonly Incident[] = [
  {
    name: 'the quota is reached by nodes of ours',
    named: /\bquota\b/i,
    cause: async (stage) => {
      await stage.takeNode();
      await stage.harness.cloud.setQuota({ instances: 1 });
    },
  },
  {
    name: 'the quota is used up by others',
    named: /quota.*others|others \d|used by others/i,
    cause: othersTakeAll,
  },
  {
    name: 'the quota was raised',
    named: /Nothing is wrong/,
    cause: async (stage) => {
      await othersTakeAll(stage);
      await pause(LIMITS_MS);
      await stage.harness.cloud.setQuota();
    },
  },
  {
    name: 'the image is deleted',
    named: /ImageMissing|no active image/,
    setup: OpenStackHarness.setup({ entry: images }),
    prepare: makeImage,
    cause: ({ harness }) => deleteImages(harness),
    repair: ({ harness }) => makeImage(harness),
  },
  {
    name: 'there is a newer image of the same name',
    named: /Nothing is wrong/,
    setup: OpenStackHarness.setup({ entry: images }),
    prepare: makeImage,
    cause: ({ harness }) => makeImage(harness),
    fact: async (stage) => {
      const newest = await imageIds(stage.harness);
      const { body } = await stage.takeNode();
      const path = `/v2.1/servers/${textOf(body['external_id'])}`;
      const { server } = await stage.harness.api.call('nova', 'GET', path);
      const used = textOf(((server as ApiObject)['image'] as ApiObject)['id']);
      return `a new server is made from the ${used === newest[0] ? 'newer' : 'older'} image`;
    },
  },
  {
    name: 'the flavor is missing',
    named: /FlavorMissing|no flavor|flavor.*(?:missing|exist)/i,
    setup: OpenStackHarness.setup({ label: { 'flavor-name': FLAVOR.name } }),
    prepare: makeFlavor,
    cause: async ({ harness }) => {
      const admin = harness.cloud.api('admin');
      await admin.call('nova', 'DELETE', `/v2.1/flavors/${(await flavorId(harness)) ?? ''}`);
    },
    repair: ({ harness }) => makeFlavor(harness),
  },
  {
    name: 'the network has no free address',
    named: /NoAddress|no free address|No more IP/i,
    setup: OpenStackHarness.setup({ pool: { networks: [NETWORK] } }),
    prepare: makeNetwork,
    cause: ({ harness }) => occupyAddress(harness),
    repair: ({ harness }) => freeAddress(harness),
  },
  {
    name: 'the server of a node in use is deleted behind our back',
    named: /MachineUnusable|instance does not exist any more/,
    cause: async (stage) => {
      const { body } = await stage.takeNode();
      await stage.harness.api.call('nova', 'DELETE', `/v2.1/servers/${textOf(body['external_id'])}`);
    },
  },
  {
    name: 'a server of ours has no record',
    named: /ResourcesLeaked/,
    cause: async (stage) => {
      const database = await ensureDatabaseId(stage.harness.zk);
      const place = { nodepool_provider_name: 'real', nodepool_pool_name: 'main' };
      await stage.makeServer({ ...place, nodepool_node_id: '0000009999', nodepool_database_id: database });
    },
    fact: async ({ harness }) => {
      const left = (await harness.servers()).filter(({ name }) => name === 'other');
      return left.length === 0 ? 'the server is deleted' : 'the server is still there';
    },
  },
];

async function othersTakeAll(stage: Stage): Promise<void> {
  await stage.makeServer();
  await stage.harness.cloud.setQuota({ instances: 1 });
}

/** Ids of images of that name, newest first. */
async function imageIds({ api }: OpenStackHarness): Promise<string[]> {
  const found = await api.list('glance', `/v2/images?name=${IMAGE}&sort=created_at:desc`, 'images');
  return found.map(({ id }) => textOf(id));
}

async function makeImage({ api }: OpenStackHarness): Promise<undefined> {
  const order = { name: IMAGE, disk_format: 'raw', container_format: 'bare', min_disk: 0 };
  const { id } = await api.call('glance', 'POST', '/v2/images', order);
  await api.putFile(`/v2/images/${textOf(id)}/file`, new Uint8Array(65_536));
}

async function deleteImages(harness: OpenStackHarness): Promise<void> {
  for (const id of await imageIds(harness)) await harness.api.call('glance', 'DELETE', `/v2/images/${id}`);
}

async function flavorId({ api }: OpenStackHarness): Promise<string | undefined> {
  const found = (await api.list('nova', '/v2.1/flavors', 'flavors')).find(({ name }) => name === FLAVOR.name);
  return found && textOf(found['id']);
}

async function makeFlavor(harness: OpenStackHarness): Promise<undefined> {
  if ((await flavorId(harness)) !== undefined) return;
  await harness.cloud.api('admin').call('nova', 'POST', '/v2.1/flavors', { flavor: FLAVOR });
}

async function networkId({ api }: OpenStackHarness): Promise<string | undefined> {
  const [found] = await api.list('neutron', `/v2.0/networks?name=${NETWORK}`, 'networks');
  return found && textOf(found['id']);
}

/** A network with one address, which stays for the next run. */
async function makeNetwork(harness: OpenStackHarness): Promise<undefined> {
  if ((await networkId(harness)) !== undefined) return;
  const network = { name: NETWORK };
  const made = await harness.api.call('neutron', 'POST', '/v2.0/networks', { network });
  const subnet = {
    ...{ ...SUBNET, network_id: textOf((made['network'] as ApiObject)['id']) },
    allocation_pools: [{ start: '127.80.0.2', end: '127.80.0.2' }],
  };
  await harness.api.call('neutron', 'POST', '/v2.0/subnets', { subnet });
}

/** Takes the address as soon as no server has it. */
async function occupyAddress(harness: OpenStackHarness): Promise<void> {
  const port = { network_id: (await networkId(harness)) ?? '', name: NETWORK };
  await harness.until('the address to be free', async () => {
    try {
      await harness.api.call('neutron', 'POST', '/v2.0/ports', { port });
      return true;
    } catch {
      return false; // a server has it
    }
  });
}

async function freeAddress({ api }: OpenStackHarness): Promise<void> {
  for (const { id } of await api.list('neutron', `/v2.0/ports?name=${NETWORK}`, 'ports')) {
    await api.call('neutron', 'DELETE', `/v2.0/ports/${textOf(id)}`);
  }
}
