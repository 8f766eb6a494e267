import assert from 'node:assert/strict';
import type { NodeRecord } from '@nodepool/zk-protocol';
import type { Harness } from '../harness/harness.js';
import { launches, type ContractPart, type PartContext } from '../harness/part.js';
import type { MachineEnd } from '../harness/types.js';

const MINUTE_MS = 60_000;
/** Longer than lists of any cloud lag. */
const LISTED_MS = 300_000;
/** For how many calls a cloud is away: as long as it takes to look at all nodes several times. */
const OUTAGE_CALLS = 20;

/** What becomes of nodes whose machine ends by itself, or by another program. */
export const usable: ContractPart = {
  name: 'usable machines',
  applies: launches,
  tests: () => [
    {
      name: 'withdraws a ready node within a minute when its machine has stopped, and lends it no more',
      run: (context) => withdraws(context, 'stopped'),
    },
    {
      name: 'withdraws a ready node within a minute when its machine was deleted, and lends it no more',
      run: (context) => withdraws(context, 'deleted'),
    },
    { name: 'leaves a node in use to its user, whose machine was deleted', run: leavesToUser },
    { name: 'withdraws no node while the cloud does not answer', run: keepsInOutage },
  ],
};

async function withdraws({ harness }: PartContext, how: MachineEnd): Promise<void> {
  await harness.startLauncher();
  const [label] = await harness.configuration.labels();
  const node = await readyNode(harness, label);
  await harness.pass(LISTED_MS);
  if (!(await harness.resources.endMachine(node, how))) return;
  await harness.pass(MINUTE_MS);
  const now = harness.history.nodes.get(node.id);
  const withdrawn = harness.history.nodeHistory.find(({ id, state }) => id === node.id && state === 'deleting');
  assert.ok(
    now?.state !== 'ready' && withdrawn !== undefined,
    `node ${node.id} is not lent any more a minute after its machine was ${how}: say so in "unusable" of the instances that ` +
      'listInstances returns',
  );
  assert.notEqual(withdrawn.comment ?? '', '', 'the comment of the node says why it was withdrawn');

  const { nodes } = await harness.take([label]);
  assert.notEqual(nodes[0]?.id, node.id, 'a request gets another node');
  await untilGone(harness, node);
}

async function leavesToUser({ harness }: PartContext): Promise<void> {
  await harness.startLauncher();
  const [label] = await harness.configuration.labels();
  const taken = await harness.take([label]);
  const [node] = taken.nodes;
  if (!node || !(await harness.resources.endMachine(node, 'deleted'))) return;
  await harness.pass(3 * MINUTE_MS);

  assert.equal(harness.history.nodes.get(node.id)?.state, 'in-use', 'a node in use ends when its user gives it back');
  await harness.giveBack(taken);
  await untilGone(harness, node);
}

async function keepsInOutage({ harness }: PartContext): Promise<void> {
  await harness.startLauncher();
  const [label] = await harness.configuration.labels();
  const node = await readyNode(harness, label);
  if (!harness.fail('unavailable', OUTAGE_CALLS)) return;
  await harness.pass(3 * MINUTE_MS);

  assert.equal(harness.history.nodes.get(node.id)?.state, 'ready', 'what a cloud does not show need not be gone');
}

function untilGone(harness: Harness, { id }: NodeRecord): Promise<void> {
  return harness.until(
    () => !harness.history.nodes.has(id),
    () => `node ${id} is deleted; ${harness.describeNodes()}`,
  );
}

/** A node that stands by. */
async function readyNode(harness: Harness, label: string): Promise<NodeRecord> {
  const request = await harness.submit([label]);
  const [node] = await harness.fulfilled(request);
  await harness.forget(request);
  assert.ok(node);
  await harness.until(() => harness.history.nodes.get(node.id)?.allocatedTo === null, 'the node is free');
  return node;
}
