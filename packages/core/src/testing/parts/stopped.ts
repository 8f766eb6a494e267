import assert from 'node:assert/strict';
import { isFree, isStartable, type NodeRecord } from '@nodepool/zk-protocol';
import type { Harness } from '../harness/harness.js';
import type { ContractPart, PartContext } from '../harness/part.js';
import { killedDuring } from './restart.js';

/** Time for several leak sweeps. */
const LONG_MS = 600_000;
/** A second node would double what there is to interrupt. */
const KEPT = { minReady: 1, keep: 'stopped' } as const;

/** A node that is stopped while it stands by is the same node when it is started for a request. */
export const stopped: ContractPart = {
  name: 'stopped',
  applies: ({ launches, resumes, stops }) => launches && resumes === true && stops === true,
  tests: () => [
    { name: 'keeps a stopped node, which is not taken for a leak', run: keepsStopped },
    { name: 'deletes a stopped node', run: deletesStopped },
    killedDuring('starts the node that it has stopped, at whatever moment the launcher dies', {
      configure: ({ configuration }) => configuration.setLabel(KEPT),
      prepare: async (harness) => {
        // how a launch is interrupted is shown by the part "restart"
        await harness.until(() => harness.ownNodes().some(isFree), 'a free node is ready');
        return harness.configuration.labels();
      },
      run: async (harness, [label]) => {
        await untilStopped(harness, label);
        await harness.submit([label]);
      },
      check: assertStarted,
      end: endKeeping,
    }),
  ],
};

async function keepsStopped({ harness }: PartContext): Promise<void> {
  const node = await makeStopped(harness);
  await harness.pass(LONG_MS);
  const now = harness.history.nodes.get(node.id);
  assert.equal(now?.state, 'testing', 'the node stands by for as long as no request needs it');
  const kept = (await harness.resources.instances()).find(({ id }) => id === node.externalId);
  assert.equal(kept?.isReady, false, 'the cloud has its instance, which does not run');
  await endKeeping(harness);
  await harness.untilNodesDeleted();
}

async function deletesStopped({ harness }: PartContext): Promise<void> {
  const node = await makeStopped(harness);
  await endKeeping(harness); // no label keeps it any more
  await harness.until(() => !harness.history.nodes.has(node.id), 'the record of the stopped node is deleted');
  const ids = await harness.resources.ids();
  assert.ok(!ids.some((id) => id === node.externalId), 'its instance is deleted');
}

async function makeStopped(harness: Harness): Promise<NodeRecord> {
  await harness.configuration.setLabel(KEPT);
  await harness.startLauncher();
  const [label] = await harness.configuration.labels();
  return untilStopped(harness, label);
}

async function untilStopped(harness: Harness, label: string): Promise<NodeRecord> {
  const find = () => harness.ownNodes().find((node) => isStartable(node) && node.labels.includes(label));
  await harness.until(
    () => find() !== undefined,
    () => `a node is stopped; ${harness.describeNodes()}`,
  );
  const node = find();
  assert.ok(node, 'a node is stopped');
  return node;
}

/** The request got a node that was stopped before, with the instance and the host keys that it had then. */
async function assertStarted(harness: Harness): Promise<void> {
  const [request] = harness.ownRequests().map((id) => harness.history.requests.get(id));
  const [id] = request?.nodeIds ?? [];
  const past = harness.history.nodeHistory.filter((node) => node.id === id);
  const spare = past.find(isStartable);
  const now = past.at(-1);
  assert.ok(spare && now, 'the request got the node that was stopped');
  assert.equal(now.externalId, spare.externalId, 'the node has the instance that was stopped');
  assert.deepEqual(now.hostKeys, spare.hostKeys, 'its host keys are unchanged');
  assert.deepEqual([now.launchError, now.launchState], [null, null], 'its start did not fail, and has ended');
  const instance = (await harness.resources.instances()).find(({ id: each }) => each === now.externalId);
  assert.equal(instance?.isReady, true, 'the instance runs');
}

/** A launcher takes over that keeps no stopped nodes. */
async function endKeeping(harness: Harness): Promise<void> {
  for (const launcher of harness.launchers) launcher.kill();
  await harness.configuration.setLabel({});
  await harness.startLauncher();
}
