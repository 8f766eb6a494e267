import assert from 'node:assert/strict';
import type { NodeRecord } from '@nodepool/zk-protocol';
import { needsAddress } from '../../contract/instance.js';
import { storedPart } from '../../contract/resources.js';
import { launches, type ContractPart, type PartTest } from '../harness/part.js';

/** A node without SSH is reached through the API of a cluster, with what `connectionPort` holds. */
function assertClusterLogin({ connectionPort, hostKeys }: NodeRecord): void {
  const { host, token, namespace } = Object(connectionPort) as Readonly<Record<string, unknown>>;
  const missing = Object.entries({ host, token, namespace }).filter(([, value]) => typeof value !== 'string');
  assert.deepEqual(
    missing.map(([name]) => name),
    [],
    'connectionPort of a node without an address has host, token and namespace',
  );
  assert.deepEqual(hostKeys, [], 'a node without SSH has no host keys');
}

const tests: readonly PartTest[] = [
  {
    name: 'makes a node that can be used',
    run: async ({ harness }) => {
      await harness.startLauncher();
      const [label] = await harness.configuration.labels();
      const { nodes } = await harness.take([label]);
      const [node] = nodes;

      assert.ok(node && nodes.length === 1, 'one node');
      assert.equal(node.state, 'ready');
      assert.ok(node.labels.includes(label), `its labels ${node.labels.join()} have "${label}" among them`);
      assert.ok(
        node.interfaceIp || !needsAddress(node.connectionType),
        `interfaceIp says where to reach it: connection type "${node.connectionType ?? 'ssh'}" needs an address`,
      );
      assert.ok(Array.isArray(node.hostKeys), 'hostKeys is a list');
      if (!needsAddress(node.connectionType)) assertClusterLogin(node);
      assert.notEqual(node.externalId, null, 'externalId says what is behind it');
      await harness.resources.assertAllReady();
    },
  },
  {
    name: 'stores the external id under which the cloud knows what it made',
    run: async ({ harness }) => {
      await harness.startLauncher();
      const [label] = await harness.configuration.labels();
      const { nodes } = await harness.take([label]);
      const ids = (await harness.resources.instances()).map(({ id }) => id);

      assert.deepEqual(
        ids,
        nodes.map(({ externalId }) => externalId),
      );
    },
  },
  {
    name: 'stores how to reach what it made',
    run: async ({ harness }) => {
      await harness.startLauncher();
      const [label] = await harness.configuration.labels();
      const { nodes } = await harness.take([label]);
      const node = nodes[0];
      assert.ok(node);
      for (const { id, login = {} } of await harness.resources.instances()) {
        if (id !== node.externalId) continue;
        for (const [field, value] of Object.entries(login)) {
          assert.deepEqual(node[field as keyof typeof login], value, `${field} is that of the instance`);
        }
      }
    },
  },
  {
    name: 'counts what it made against the quota',
    run: async ({ harness }) => {
      const { provider } = await harness.startLauncher();
      const [label] = await harness.configuration.labels();
      const [node] = (await harness.take([label])).nodes;
      const pool = provider.config.pools.get(node?.pool ?? '');
      assert.ok(node && pool);
      const need = storedPart(provider.quota?.quotaNeededByLabel(label, pool) ?? { instances: 1 });
      const counted = node.resources ?? {};

      assert.ok(
        (counted['instances'] ?? 0) >= 1,
        `the record counts ${JSON.stringify(node.resources)}: an instance counts as one instance at least`,
      );
      for (const [name, amount] of Object.entries(need)) {
        const used = counted[name] ?? amount;
        assert.ok(
          used > 0 || amount === 0,
          `a node of label "${label}" needs ${amount} of ${name}, and its instance counts as ${used}: say in resources of ` +
            'the instance what it uses, else nodes in use count as nothing and limits are exceeded',
        );
      }
    },
  },
  {
    name: 'makes as many as are asked for, at once',
    run: async ({ harness }) => {
      await harness.startLauncher();
      const [label] = await harness.configuration.labels();
      const { nodes } = await harness.take([label, label, label]);

      assert.equal(new Set(nodes.map(({ externalId }) => externalId)).size, 3, 'three nodes, three external ids');
      assert.equal((await harness.resources.instances()).length, 3, 'three instances');
    },
  },
  {
    name: 'makes every label it has',
    run: async ({ harness }) => {
      await harness.startLauncher();
      for (const label of await harness.configuration.labels()) {
        const taken = await harness.take([label]);
        await harness.giveBack(taken);
      }
    },
  },
];

/** Creating nodes. */
export const create: ContractPart = {
  name: 'create',
  applies: launches,
  tests: () => tests,
};
