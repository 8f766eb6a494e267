import assert from 'node:assert/strict';
import { launches, type ContractPart, type PartTest } from '../harness/part.js';

/** Several looks for leaks. */
const SWEEPS_MS = 600_000;

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
];

/** What is in the cloud when all is over, and what is never touched. */
export const nothingLeft: ContractPart = {
  name: 'nothing left',
  applies: launches,
  tests: () => tests,
};
