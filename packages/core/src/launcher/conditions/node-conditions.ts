import type { NodeRecord } from '@nodepool/zk-protocol';
import { newCondition } from '../../conditions/condition-types.js';
import { adviceFor } from '../../conditions/error-reason.js';
import type { FoundCondition } from '../../contract/condition.js';
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

function failed(node: NodeRecord, status: DeletionStatus): FoundCondition {
  const { attempts, error = 'no reason is known', reason = 'Error', failedMs: lastSeenMs } = status;
  // advice on instances that do not become usable does not help with a deletion
  const ofInstance = reason === 'InstanceFailed';
  const advice = ofInstance ? LOOK_IN_CLOUD : adviceFor(reason, node.provider ?? '');
  return newCondition('DeletionFails', {
    ...{ name: node.id, reason, lastSeenMs, evidence: { ...evidenceOf(node), attempts } },
    message: `its deletion has failed ${attempts} times: ${error}`,
    nextStep: `${advice === '' ? '' : `${advice}; `}nodepool delete ${node.id} --now tries again at once`,
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
