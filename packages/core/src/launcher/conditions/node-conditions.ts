import type { NodeRecord } from '@nodepool/zk-protocol';
import { newCondition } from '../../conditions/condition-types.js';
import { adviceFor } from '../../conditions/error-reason.js';
import type { FoundCondition } from '../../contract/condition.js';
import type { UnusableNode } from '../../contract/driver.js';
import type { DeletionStatus } from '../nodes/reaper.js';

/** A deletion that takes longer is stuck, and does not count as capacity to come any more. */
const LONGEST_DELETION_MS = 300_000;

const LOOK_IN_CLOUD = 'look at the instance with the tools of the cloud';

/** A node, and whether a launcher works on it. */
interface SeenNode {
  readonly node: NodeRecord;
  readonly locked: boolean;
}

/** Nodes whose deletion fails or does not end. */
export function deletionConditions(
  nodes: Iterable<SeenNode>,
  failing: readonly DeletionStatus[],
  nowMs: number,
): FoundCondition[] {
  const errors = new Map(failing.map((status) => [status.nodeId, status]));
  return [...nodes].flatMap((seen) => {
    const status = errors.get(seen.node.id);
    if (status) return [failed(seen.node, status)];
    const { state, stateTimeMs } = seen.node;
    return state === 'deleting' && nowMs - stateTimeMs > LONGEST_DELETION_MS ? [stuck(seen)] : [];
  });
}

/** What to do about a node that is not deleted by itself, by its state. */
const NEXT_STEPS: Readonly<Record<string, string>> = {
  'in-use': 'wait until its user gives it back, or end the job or lease that has it',
  hold: 'nodepool delete NODE, once it is no longer needed',
};

const USES: Readonly<Record<string, string>> = { 'in-use': 'in use', hold: 'held' };

/** Nodes that their users keep although their machine cannot be used any more. */
export function machineConditions(
  unusable: readonly UnusableNode[],
  nodes: { get(id: string): NodeRecord | undefined },
): FoundCondition[] {
  return unusable.flatMap(({ nodeId, why, sinceMs, lastSeenMs }) => {
    const node = nodes.get(nodeId);
    const nextStep = NEXT_STEPS[node?.state ?? '']?.replace('NODE', nodeId);
    if (!node || nextStep === undefined) return []; // it is being withdrawn
    const evidence = { ...evidenceOf(node), state: node.state };
    const message = `it is ${USES[node.state] ?? node.state}, and ${why}`;
    return [
      newCondition('MachineUnusable', {
        name: nodeId,
        reason: 'Lost',
        message,
        nextStep,
        sinceMs,
        lastSeenMs,
        evidence,
      }),
    ];
  });
}

function failed(node: NodeRecord, status: DeletionStatus): FoundCondition {
  const { attempts, error = 'no reason is known', reason = 'Error', failedMs: lastSeenMs } = status;
  // advice on instances that do not become usable does not help with a deletion
  const ofInstance = reason === 'InstanceFailed';
  const advice = ofInstance ? LOOK_IN_CLOUD : adviceFor(reason, node.provider ?? '');
  return newCondition('DeletionFails', {
    ...{ name: node.id, reason, lastSeenMs, evidence: { ...evidenceOf(node), attempts } },
    message: `its deletion has failed ${attempts} times: ${error}`,
    nextStep: `${advice === '' ? '' : `${advice}; `}nodepool delete ${node.id} tries again at once`,
  });
}

function stuck({ node, locked }: SeenNode): FoundCondition {
  const { id, externalId } = node;
  const instance = externalId === null ? 'its instance' : `instance ${idText(externalId)}`;
  const sinceMs = node.stateTimeMs;
  const minutes = LONGEST_DELETION_MS / 60_000;
  const common = { name: id, sinceMs, evidence: evidenceOf(node) };
  if (locked) {
    const message = `it has been deleting for more than ${minutes} minutes: the cloud does not end ${instance}`;
    const nextStep = `look at ${instance} with the tools of the cloud; the launcher continues by itself once it is gone`;
    return newCondition('DeletionTakesLong', { ...common, reason: 'StillInCloud', message, nextStep });
  }
  const message = `it has been deleting for more than ${minutes} minutes, and no launcher works on it`;
  return newCondition('DeletionTakesLong', {
    ...common,
    reason: 'NobodyDeletes',
    message,
    nextStep: `nodepool delete ${id} --now`,
  });
}

function evidenceOf({ provider, externalId }: NodeRecord) {
  return { provider, externalId: externalId === null ? null : idText(externalId) };
}

/** Some drivers keep several ids of an instance. */
function idText(externalId: NonNullable<NodeRecord['externalId']>): string {
  return typeof externalId === 'string' ? externalId : JSON.stringify(externalId);
}
