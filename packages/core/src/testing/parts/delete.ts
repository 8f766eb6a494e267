import assert from 'node:assert/strict';
import { launches, type ContractPart, type PartTest } from '../harness/part.js';

const tests: readonly PartTest[] = [
  {
    name: 'has removed what is behind a node when it says so',
    run: async ({ harness }) => {
      const { provider } = await harness.startLauncher();
      const [label] = await harness.configuration.labels();
      const taken = await harness.take([label]);
      for (const node of taken.nodes) {
        const deletion = provider.startNodeCleanup({ ...node, state: 'deleting' }, new AbortController().signal);
        const looking = Promise.resolve(deletion).then(() => harness.resources.list());
        const left = await harness.during(looking, 'the deletion ends');

        assert.deepEqual(
          left.filter(({ lifetime = 'node' }) => lifetime === 'node'),
          [],
          'startNodeCleanup resolves when the cloud has nothing of it any more, not earlier',
        );
      }
    },
  },
  {
    name: 'takes it for done when there is nothing left to delete',
    run: async ({ harness }) => {
      const { provider } = await harness.startLauncher();
      const [label] = await harness.configuration.labels();
      const taken = await harness.take([label]);
      await harness.giveBack(taken);
      await harness.untilNoNodes();
      for (const node of taken.nodes) {
        const again = provider.startNodeCleanup({ ...node, state: 'deleting' }, new AbortController().signal);
        await harness.during(Promise.resolve(again), 'a second deletion ends', 600_000);
      }
    },
  },
  {
    name: 'deletes in the end although the cloud does not answer at first',
    run: async ({ harness }) => {
      await harness.startLauncher();
      const [label] = await harness.configuration.labels();
      const taken = await harness.take([label]);
      await harness.pass(10_000);
      harness.fail('unavailable', 2);
      await harness.giveBack(taken);
      await harness.untilNoNodes();

      assert.deepEqual(await harness.resources.instances(), []);
    },
  },
  {
    name: 'knows nothing to delete behind a node that was never made',
    run: async ({ harness }) => {
      const { provider } = await harness.startLauncher();
      const [label] = await harness.configuration.labels();
      const taken = await harness.take([label]);
      const before = await harness.resources.list();
      for (const node of taken.nodes) {
        const nothing = { ...node, id: '9999999999' as typeof node.id, state: 'deleting', externalId: null };
        const deletion = provider.startNodeCleanup(nothing, new AbortController().signal);
        await harness.during(Promise.resolve(deletion), 'deleting nothing ends', 600_000);
      }

      assert.deepEqual(await harness.resources.list(), before, 'other nodes keep what they have');
    },
  },
];

/** Deleting the resources of nodes. */
export const deletion: ContractPart = {
  name: 'delete',
  applies: launches,
  tests: () => tests,
};
