import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { encodeRequest, newRequest, NODE_CREATE_PATH, requestCreatePath } from '@nodepool/zk-protocol';
import { AdviceWorld } from './advice-world.js';
import type { Row } from './row.js';

const AN_HOUR_AGO_MS = 3_600_000;
/** A provider that only a command has in its configuration. */
const FAR = {
  ...{ name: 'far', driver: 'openstack', cloud: 'sky', 'cloud-images': [{ name: 'debian' }] },
  pools: [
    {
      name: 'main',
      networks: ['public'],
      labels: [{ name: 'other', 'cloud-image': 'debian', 'flavor-name': 'm1.small' }],
    },
  ],
};
const WITH_FAR = { more: { labels: [{ name: 'other' }], providers: [FAR] } };

/** An order about the provider. */
const order = (reason: string, ...command: string[]): Row => ({
  ...{ type: 'OrderInForce', reason, advice: /^nodepool (provider resume sky)$/ },
  begin: (world) => world.nodepool(['provider', ...command]),
});

const forgotten: Row = {
  ...{ type: 'RequestsForgotten', reason: 'NotTaken', advice: /nodepool (cancel \S+)$/ },
  async begin({ zk }) {
    const request = newRequest({ labels: ['small'], requestor: 'zuul' }, Date.now() - AN_HOUR_AGO_MS);
    const body = encodeRequest({ ...request, state: 'fulfilled', nodeIds: [] });
    await zk.create(requestCreatePath(200), body, { sequential: true });
  },
};

const unreadable: Row = {
  ...{ type: 'UnreadableRecords', reason: 'Malformed', advice: /delete it: zkCli\.sh deleteall (\S+)$/ },
  begin: ({ zk }) => zk.create(NODE_CREATE_PATH, '{"provider": "sky", "sta', { sequential: true }),
  follow: ({ zk }, { next_step: advice }) => zk.delete(/deleteall (\S+)$/.exec(advice)?.[1] ?? ''),
};

/** After `deletedByNone`: a provider that left the configuration is drained for a while, so its nodes are deleted. */
const orphans: Row = {
  ...{ type: 'NodesWithoutProvider', reason: 'UnknownProvider', advice: /^put the entry of provider "far" back/ },
  begin: (world) =>
    world.createNode({ provider: 'far', state: 'used', externalId: 'f0f0f0f0-0000-4000-8000-000000000001' }),
  follow: (world) => world.configure(WITH_FAR),
  async end(world) {
    await world.well(); // the node is deleted
    await world.configure();
  },
};

const deletedByNone: Row = {
  ...{ type: 'DeletionTakesLong', reason: 'NobodyDeletes', advice: /^nodepool (delete \d+ --now)$/ },
  begin: (world) =>
    world.createNode({
      ...{ provider: 'far', state: 'deleting', externalId: 'f0f0f0f0-0000-4000-8000-000000000002' },
      stateTimeMs: Date.now() - AN_HOUR_AGO_MS,
    }),
  async follow(world, { next_step: advice }) {
    const file = join(world.dir, 'with-far.yaml');
    await writeFile(file, JSON.stringify(AdviceWorld.config(WITH_FAR)));
    await world.nodepool(advice.split(' ').slice(1), file);
  },
};

const lost: Row = {
  ...{ type: 'MachineUnusable', reason: 'Lost', advice: /^nodepool delete NODE|^nodepool (delete \d+)/ },
  async begin(world) {
    await world.configure({ top: { 'min-ready': 1 } });
    const { id, server } = await world.readyNode();
    await world.nodepool(['hold', id]);
    world.cloud.state.servers.delete(server);
  },
  end: (world) => world.configure(),
};

const failingDeletion = (reason: string, fault: { status: number; body?: string }, advice: RegExp): Row => ({
  ...{ type: 'DeletionFails', reason, advice },
  async begin(world) {
    await world.configure({ top: { 'min-ready': 1 } });
    const { id } = await world.readyNode();
    await world.configure();
    world.cloud.faults.push({ method: 'DELETE', path: /compute\/servers/, ...fault });
    await world.nodepool(['delete', id]);
  },
  async follow(world, { next_step: advice }) {
    world.cloud.faults.length = 0;
    await world.nodepool(['delete', /delete (\d+)/.exec(advice)?.[1] ?? '']);
  },
});

/** Conditions of launchers, nodes and requests. */
export const LAUNCHER_ROWS: readonly Row[] = [
  order('Paused', 'pause', 'sky'),
  order('Drained', 'drain', 'sky'),
  order('Limited', 'limit', 'sky', '1'),
  {
    ...{ type: 'NotServed', reason: 'Paused', advice: /^nodepool (provider resume sky)$/ },
    begin: (world) => world.nodepool(['provider', 'pause', 'sky']),
  },
  ...[forgotten, unreadable, deletedByNone, orphans, lost],
  failingDeletion('Forbidden', { status: 403 }, /permission .*; nodepool delete \d+ tries again at once$/),
  failingDeletion(
    'Unauthorized',
    { status: 401 },
    /^correct the credentials .*; nodepool delete \d+ tries again at once$/,
  ),
  failingDeletion(
    'Quota',
    { status: 403, body: 'Quota exceeded for snapshots' },
    /^raise the quota of the project, or free some of it; nodepool delete \d+ tries again at once$/,
  ),
  failingDeletion('Unavailable', { status: 503 }, /^look at the cloud .*; nodepool delete \d+ tries again at once$/),
];
