import assert from 'node:assert/strict';
import { newRequest } from '@nodepool/zk-protocol';
import { launches, type ContractPart, type PartTest } from '../harness/part.js';

const tests: readonly PartTest[] = [
  {
    name: 'hands out a node that was made and not used',
    run: async ({ harness }) => {
      await harness.startLauncher();
      const [label] = await harness.configuration.labels();
      const unused = await harness.submit([label]);
      const [first] = await harness.fulfilled(unused);
      await harness.forget(unused);
      await harness.until(
        () => harness.ownNodes().every(({ allocatedTo }) => allocatedTo === null),
        'the node is free',
      );
      const { nodes } = await harness.take([label]);

      assert.deepEqual(
        nodes.map(({ id }) => id),
        [first?.id],
        'the same node',
      );
      assert.equal(await harness.resources.countInstances(), 1, 'and no new instance');
    },
  },
  {
    name: 'keeps the nodes of a request in one zone',
    run: async ({ harness }) => {
      await harness.startLauncher();
      const [label] = await harness.configuration.labels();
      const { nodes } = await harness.take([label, label, label]);

      assert.equal(new Set(nodes.map(({ az }) => az)).size, 1, `zones: ${nodes.map(({ az }) => String(az)).join()}`);
    },
  },
  {
    name: 'judges nodes of other zones without failing',
    run: async ({ harness }) => {
      const { provider } = await harness.startLauncher();
      const [label] = await harness.configuration.labels();
      const { nodes } = await harness.take([label]);
      const request = newRequest({ labels: [label] }, harness.cloud.clock.now());
      const [pool] = provider.config.pools.values();
      const [node] = nodes;
      assert.ok(pool && node);
      const handler = provider.getRequestHandler(pool, request);
      for (const az of [node.az, 'no-such-zone', null]) {
        const answer: unknown = handler.acceptsNode?.({ ...node, az }) ?? true;
        assert.equal(typeof answer, 'boolean', 'acceptsNode answers at once, true or false');
      }
    },
  },
  {
    name: 'completes new records without changing what they are',
    run: async ({ harness }) => {
      const { provider } = await harness.startLauncher();
      const [label] = await harness.configuration.labels();
      const { nodes } = await harness.take([label]);
      const [pool] = provider.config.pools.values();
      const [node] = nodes;
      assert.ok(pool && node);
      const handler = provider.getRequestHandler(pool, newRequest({ labels: [label] }, harness.cloud.clock.now()));
      const draft = { ...node, state: 'init' } as const;
      const { labels, state, provider: name, pool: poolName } = handler.setNodeMetadata?.(draft) ?? draft;
      const { labels: was, state: before, provider: nameBefore, pool: poolBefore } = draft;

      assert.deepEqual([labels, state, name, poolName], [was, before, nameBefore, poolBefore]);
    },
  },
];

/** Reusing nodes that were created but not used. */
export const reuse: ContractPart = {
  name: 'reuse',
  applies: launches,
  tests: () => tests,
};
