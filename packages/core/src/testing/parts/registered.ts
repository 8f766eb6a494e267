import assert from 'node:assert/strict';
import { newRequest } from '@nodepool/zk-protocol';
import { needsAddress } from '../../contract/instance.js';
import type { ContractPart, PartTest } from '../harness/part.js';

/** Time for several sweeps, which register missing nodes. */
const SWEEPS_MS = 300_000;

const tests: readonly PartTest[] = [
  {
    name: 'serves a request with a node that is registered',
    run: async ({ harness }) => {
      await harness.startLauncher();
      const [label] = await harness.configuration.labels();
      const { nodes } = await harness.take([label]);
      const [node] = nodes;

      assert.ok(node && node.labels.includes(label), 'one node with the label');
      assert.ok(
        node.interfaceIp || !needsAddress(node.connectionType),
        `interfaceIp says where to reach it: connection type "${node.connectionType ?? 'ssh'}" needs an address`,
      );
    },
  },
  {
    name: 'lends the same thing again after use',
    run: async ({ harness }) => {
      await harness.startLauncher();
      const [label] = await harness.configuration.labels();
      const before = await harness.resources.list();
      for (let round = 0; round < 3; round++) await harness.giveBack(await harness.take([label]));

      assert.deepEqual(await harness.resources.list(), before, 'nothing is made and nothing is removed');
    },
  },
  {
    name: 'makes nothing on request',
    run: async ({ harness }) => {
      const { provider } = await harness.startLauncher();
      const [label] = await harness.configuration.labels();
      const [pool] = provider.config.pools.values();
      assert.ok(pool);
      const handler = provider.getRequestHandler(pool, newRequest({ labels: [label] }, harness.cloud.clock.now()));

      assert.equal(typeof handler.launch, 'undefined', 'a driver with launches: false has no launch');
    },
  },
  {
    name: 'registers nothing twice, however often it starts',
    run: async ({ harness }) => {
      const first = await harness.startLauncher();
      await harness.pass(SWEEPS_MS);
      const before = harness.ownNodes().length;
      first.kill();
      await harness.startLauncher();
      await harness.pass(SWEEPS_MS);

      assert.equal(harness.ownNodes().length, before, harness.describeNodes());
    },
  },
  {
    name: 'keeps a node in use when the launcher dies, and registers it again after use',
    run: async ({ harness }) => {
      const first = await harness.startLauncher();
      await harness.pass(SWEEPS_MS);
      const before = harness.ownNodes().length;
      const [label] = await harness.configuration.labels();
      const taken = await harness.take([label]);
      first.kill();
      await harness.startLauncher();
      await harness.pass(SWEEPS_MS);
      assert.deepEqual(
        taken.held.map(({ id }) => harness.history.nodes.get(id)?.state),
        ['in-use'],
      );
      await harness.giveBack(taken);
      await harness.pass(SWEEPS_MS);

      assert.equal(harness.ownNodes().filter(({ state }) => state === 'ready').length, before, harness.describeNodes());
    },
  },
];

/** Drivers that launch nothing: their nodes exist before any request. */
export const registered: ContractPart = {
  name: 'registered nodes',
  applies: ({ launches }) => !launches,
  tests: () => tests,
};
