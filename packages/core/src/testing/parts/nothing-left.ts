import assert from 'node:assert/strict';
import { launches, type ContractPart } from '../harness/part.js';

/** Several looks for leaks. */
const SWEEPS_MS = 600_000;

/** What is in the cloud when all is over, and what is never touched. */
export const nothingLeft: ContractPart = {
  name: 'nothing left',
  applies: launches,
  tests: () => [
    {
      name: 'leaves nothing in the cloud after use',
      run: async ({ bench }) => {
        await bench.startLauncher();
        const [label] = await bench.labels();
        const taken = await bench.take([label, label]);
        await bench.giveBack(taken);
        await bench.untilNoNodes();
        await bench.pass(SWEEPS_MS);

        assert.deepEqual(await bench.list(), []);
      },
    },
    {
      name: 'leaves nothing in the cloud when the requestor goes away',
      run: async ({ bench }) => {
        await bench.startLauncher();
        const [label] = await bench.labels();
        bench.fail('never-ready');
        const request = await bench.submit([label]);
        await bench.pass(2_000);
        await bench.forget(request);
        await bench.untilNodesDeleted();
        await bench.pass(SWEEPS_MS);

        assert.deepEqual(await bench.list(), []);
      },
    },
    {
      name: 'leaves alone what is in use, however often it looks for leaks',
      run: async ({ bench }) => {
        const { provider } = await bench.startLauncher();
        const [label] = await bench.labels();
        await bench.take([label]);
        const before = await bench.ids();
        for (let round = 0; round < 3; round++) {
          const looking = provider.cleanupLeakedResources(new AbortController().signal);
          await bench.during(looking, 'looking for leaks ends');
          await bench.pass(60_000);
        }

        assert.deepEqual(await bench.ids(), before);
      },
    },
    {
      name: 'leaves alone what another installation made in the same cloud',
      run: async ({ bench }) => {
        await bench.startLauncher();
        const [label] = await bench.labels();
        await bench.take([label]);
        const before = await bench.ids();
        const neighbour = bench.neighbour('another-provider');
        await neighbour.startLauncher();
        await neighbour.pass(SWEEPS_MS);
        const after = await bench.ids();
        await neighbour.close();

        assert.deepEqual(after, before, 'only what carries the tag of the own provider may be deleted as leaked');
      },
    },
  ],
};
