import assert from 'node:assert/strict';
import { newRequest } from '@nodepool/zk-protocol';
import type { ContractPart } from '../harness/part.js';

/** Several sweeps, which register what is missing. */
const SWEEPS_MS = 300_000;

/** Drivers that make nothing: their nodes are there before anybody asks. */
export const registered: ContractPart = {
  name: 'registered nodes',
  applies: ({ launches }) => !launches,
  tests: () => [
    {
      name: 'serves a request with a node that is registered',
      run: async ({ bench }) => {
        await bench.startLauncher();
        const [label] = await bench.labels();
        const { nodes } = await bench.take([label]);
        const [node] = nodes;

        assert.ok(node && node.labels.includes(label), 'one node with the label');
        assert.ok(node.interfaceIp, 'interfaceIp says where to reach it');
      },
    },
    {
      name: 'lends the same thing again after use',
      run: async ({ bench }) => {
        await bench.startLauncher();
        const [label] = await bench.labels();
        const before = await bench.list();
        for (let round = 0; round < 3; round++) await bench.giveBack(await bench.take([label]));

        assert.deepEqual(await bench.list(), before, 'nothing is made and nothing is removed');
      },
    },
    {
      name: 'makes nothing on request',
      run: async ({ bench }) => {
        const { provider } = await bench.startLauncher();
        const [label] = await bench.labels();
        const [pool] = provider.config.pools.values();
        assert.ok(pool);
        const handler = provider.getRequestHandler(pool, newRequest({ labels: [label] }, bench.cloud.clock.now()));

        assert.equal(typeof handler.launch, 'undefined', 'a driver with launches: false has no launch');
      },
    },
    {
      name: 'registers nothing twice, however often it starts',
      run: async ({ bench }) => {
        const first = await bench.startLauncher();
        await bench.pass(SWEEPS_MS);
        const before = bench.ownNodes().length;
        first.kill();
        await bench.startLauncher();
        await bench.pass(SWEEPS_MS);

        assert.equal(bench.ownNodes().length, before, bench.describeNodes());
      },
    },
    {
      name: 'keeps a node in use when the launcher dies, and registers it again after use',
      run: async ({ bench }) => {
        const first = await bench.startLauncher();
        await bench.pass(SWEEPS_MS);
        const before = bench.ownNodes().length;
        const [label] = await bench.labels();
        const taken = await bench.take([label]);
        first.kill();
        await bench.startLauncher();
        await bench.pass(SWEEPS_MS);
        assert.deepEqual(
          taken.held.map(({ id }) => bench.books.nodes.get(id)?.state),
          ['in-use'],
        );
        await bench.giveBack(taken);
        await bench.pass(SWEEPS_MS);

        assert.equal(bench.ownNodes().filter(({ state }) => state === 'ready').length, before, bench.describeNodes());
      },
    },
  ],
};
