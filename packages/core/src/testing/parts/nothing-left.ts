import assert from 'node:assert/strict';
import type { RequestId } from '@nodepool/zk-protocol';
import { DATABASE_ID_TAG, NODE_CREATED_TAG, NODE_ID_TAG } from '../../contract/instance.js';
import type { Harness } from '../harness/harness.js';
import { launches, type ContractPart, type PartTest } from '../harness/part.js';

/** Time for several leak sweeps. */
const SWEEPS_MS = 600_000;
/** Time for several leak sweeps. A leak is deleted after the second. */
const CLEAN_WITHIN_MS = 1_800_000;

const tests: readonly PartTest[] = [
  {
    name: 'leaves nothing in the cloud after use',
    run: async ({ harness }) => {
      await harness.startLauncher();
      const [label] = await harness.configuration.labels();
      const taken = await harness.take([label, label]);
      await harness.giveBack(taken);
      await harness.untilNoNodes();
      await harness.pass(SWEEPS_MS);

      assert.deepEqual(await harness.resources.list(), []);
    },
  },
  {
    name: 'leaves nothing in the cloud when the requestor goes away',
    run: async ({ harness }) => {
      await harness.startLauncher();
      const [label] = await harness.configuration.labels();
      harness.fail('never-ready');
      const request = await harness.submit([label]);
      await harness.pass(2_000);
      await harness.forget(request);
      await harness.untilNodesDeleted();
      await harness.pass(SWEEPS_MS);

      assert.deepEqual(await harness.resources.list(), []);
    },
  },
  {
    name: 'keeps what is in use, however often it looks for leaks',
    run: async ({ harness }) => {
      const { provider } = await harness.startLauncher();
      const [label] = await harness.configuration.labels();
      await harness.take([label]);
      const before = await harness.resources.ids();
      for (let round = 0; round < 3; round++) {
        const looking = provider.cleanupLeakedResources(new AbortController().signal);
        await harness.during(looking, 'looking for leaks ends');
        await harness.pass(60_000);
      }

      assert.deepEqual(await harness.resources.ids(), before);
    },
  },
  {
    name: 'keeps what another installation made in the same cloud',
    run: async ({ harness }) => {
      await harness.startLauncher();
      const [label] = await harness.configuration.labels();
      await harness.take([label]);
      const before = await harness.resources.ids();
      const neighbour = harness.neighbour('another-provider');
      await neighbour.startLauncher();
      await neighbour.pass(SWEEPS_MS);
      const after = await harness.resources.ids();
      await neighbour.close();

      assert.deepEqual(after, before, 'only what carries the tag of the own provider may be deleted as leaked');
    },
  },
  {
    name: 'keeps what a launcher with another database made under the same name of the provider',
    run: async ({ harness }) => {
      const { provider } = await harness.startLauncher();
      const [label] = await harness.configuration.labels();
      await harness.take([label]);
      const before = await harness.resources.ids();
      const neighbour = harness.neighbour(provider.config.name);
      await neighbour.startLauncher();
      await neighbour.pass(SWEEPS_MS);
      const after = await harness.resources.ids();
      await neighbour.close();

      assert.deepEqual(after, before, 'only what carries the id of the own database may be deleted as leaked');
    },
  },
  {
    name: 'takes over nothing that a launcher with another database made under the same name',
    run: async ({ harness }) => {
      const { provider } = await harness.startLauncher();
      const [label] = await harness.configuration.labels();
      const { nodes: foreign } = await harness.take([label]);
      const isRecord = (await harness.resources.instances()).every(({ lifetime }) => lifetime === 'record');
      if (isRecord) return; // such resources do not exist for another database
      const before = await instanceIds(harness);
      const neighbour = harness.neighbour(provider.config.name);
      await neighbour.startLauncher();
      // Both databases start node ids at zero, so names can collide. If names are unique, the second creation fails.
      const made = await externalIdsOf(neighbour, await neighbour.submit([label]));
      assert.ok(
        !made.some((externalId) => externalId === foreign[0]?.externalId),
        'an instance is taken over only if it carries all tags of order.metadata: its name, and the id of its node alone, ' +
          'are those of a node of another database as well',
      );
      await neighbour.untilNodesDeleted();
      await neighbour.pass(SWEEPS_MS);
      const after = await instanceIds(harness);
      await neighbour.close();

      assert.deepEqual(after, before, 'what another database made stays when a node of this one is deleted');
    },
  },
  {
    name: 'deletes an instance that no record knows, and nothing else',
    run: async ({ harness }) => {
      await harness.startLauncher();
      const [label] = await harness.configuration.labels();
      const neighbour = harness.neighbour('another-provider');
      await neighbour.startLauncher();
      await harness.take([label]);
      await externalIdsOf(neighbour, await neighbour.submit([label]));
      const kept = await instanceIds(harness);
      const { nodes, held } = await harness.take([label]);
      for (const { lose } of held) await harness.during(lose(), 'its record is removed');
      const leaked = nodes[0]?.externalId;
      await harness.until(
        async () => !(await instanceIds(harness)).some((id) => id === leaked),
        `instance ${JSON.stringify(leaked)}, whose record was removed, is deleted as leaked: it must carry the tags of ` +
          'order.metadata, and listResources must show it with them',
        CLEAN_WITHIN_MS,
      );
      await harness.pass(SWEEPS_MS);
      const left = await instanceIds(harness);
      await neighbour.close();

      assert.deepEqual(left, kept, 'deleteResource deletes the resource that it is given, and nothing else');
    },
  },
  {
    name: 'marks all that it makes with the id of the database and the creation of the record',
    run: async ({ harness }) => {
      const { provider, launcher } = await harness.startLauncher();
      const [label] = await harness.configuration.labels();
      const { nodes } = await harness.take([label]);
      if (!provider.listResources) return; // resources without tags
      const listing = provider.listResources(new AbortController().signal);
      const made = (await harness.during(listing, 'the resources are listed')).filter(
        ({ metadata }) => metadata[NODE_ID_TAG] === nodes[0]?.id,
      );

      assert.ok(made.length > 0, 'listResources shows what was made for the node, with its tags');
      for (const { type, id, metadata } of made) {
        assert.equal(metadata[DATABASE_ID_TAG], launcher.databaseId, `${type} ${id} carries ${DATABASE_ID_TAG}`);
        const created = String(nodes[0]?.createdTimeMs);
        assert.equal(metadata[NODE_CREATED_TAG], created, `${type} ${id} carries ${NODE_CREATED_TAG}`);
      }
    },
  },
];

/** Resources created for a request, after the request is finished and deleted. */
async function externalIdsOf(harness: Harness, id: RequestId): Promise<unknown[]> {
  const isAnswered = () => ['fulfilled', 'failed'].includes(harness.history.requests.get(id)?.state ?? '');
  await harness.until(isAnswered, 'the request is answered');
  const { state, nodeIds = [] } = harness.history.requests.get(id) ?? {};
  await harness.forget(id);
  if (state === 'failed') return [];
  return nodeIds.map((node) => harness.history.nodes.get(node)?.externalId);
}

async function instanceIds({ resources }: Harness): Promise<string[]> {
  return (await resources.instances()).map(({ id }) => id).sort();
}

/** Resources that remain in the cloud, and resources that no driver may touch. */
export const nothingLeft: ContractPart = {
  name: 'nothing left',
  applies: launches,
  tests: () => tests,
};
