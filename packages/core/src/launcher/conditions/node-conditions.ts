import { leaseHolding, type NodeCache, type NodeRecord } from '@nodepool/zk-protocol';
import { adviceFor } from '../../conditions/error-reason.js';
import { newCondition, type ConditionTypes, type FoundCondition } from '../../contract/condition.js';
import type { UnusableNode } from '../../contract/driver.js';
import type { DeletionStatus, Reaper } from '../nodes/reaper.js';
import type { ProviderSet } from '../providers/provider-set.js';

/** Conditions of nodes. */
export const CONDITIONS = {
  DeletionFails: {
    ...{ kind: 'node', severity: 'error' },
    meaning: 'the deletion of a node failed; retried with back-off until it succeeds',
    ...{ reasons: 'errors', nextStep: 'nodepool delete NODE, after correcting the cause, tries again at once' },
  },
  MachineUnusable: {
    ...{ kind: 'node', severity: 'warning' },
    meaning:
      'the machine of a node that is in use or held is gone, or cannot be used any more; the node is left to its user',
    reasons: { Lost: 'the message has what the cloud shows' },
    nextStep:
      'wait until its user gives it back, or end the job; for a leased node: nodepool release LEASE; for a held one: nodepool delete NODE',
  },
  DeletionTakesLong: {
    ...{ kind: 'node', severity: 'error' },
    meaning: 'a node has been `deleting` for more than 5 minutes',
    reasons: {
      StillInCloud: 'a launcher works on it, but the instance still exists',
      NobodyDeletes: 'no launcher works on it',
    },
    nextStep:
      'StillInCloud: check the instance with the tools of the cloud; the launcher continues once it is gone; NobodyDeletes: nodepool delete NODE --now',
  },
} as const satisfies ConditionTypes;

/** A deletion that takes longer is stuck, and does not count as capacity to come any more. */
const LONGEST_DELETION_MS = 300_000;

const LOOK_IN_CLOUD = 'look at the instance with the tools of the cloud';

/** Nodes whose machine cannot be used, or whose deletion fails or does not end. */
export function nodeConditions(
  nodes: NodeCache,
  { providers, reaper, nowMs }: { readonly providers: ProviderSet; readonly reaper: Reaper; readonly nowMs: number },
): FoundCondition[] {
  const errors = new Map(reaper.failing().map((status) => [status.nodeId, status]));
  const undeleted = [...nodes.values()].flatMap((node) => {
    const status = errors.get(node.id);
    if (status) return [failed(node, status)];
    const isLate = node.state === 'deleting' && nowMs - node.stateTimeMs > LONGEST_DELETION_MS;
    return isLate ? [stuck(node, nodes.contenders(node.id) > 0)] : [];
  });
  return [...machineConditions(providers.unusableNodes(), nodes), ...undeleted];
}

/** What to do about a node that is not deleted by itself, by its state. */
const NEXT_STEPS: Readonly<Record<string, string>> = {
  'in-use': 'wait until its user gives it back, or end the job or lease that has it',
  hold: 'nodepool delete NODE, once it is no longer needed',
};

const USES: Readonly<Record<string, string>> = { 'in-use': 'in use', hold: 'held' };

/** Nodes that their users keep although their machine cannot be used any more. */
function machineConditions(unusable: readonly UnusableNode[], nodes: NodeCache): FoundCondition[] {
  return unusable.flatMap(({ nodeId, why, sinceMs, lastSeenMs }) => {
    const node = nodes.get(nodeId);
    const lease = node && leaseHolding(node);
    const release = lease && `nodepool release ${lease}, or wait until its lessee returns it`;
    const nextStep = release ?? NEXT_STEPS[node?.state ?? '']?.replace('NODE', nodeId);
    if (!node || nextStep === undefined) return []; // it is being withdrawn
    const evidence = { ...evidenceOf(node), state: node.state };
    const use = lease === undefined ? (USES[node.state] ?? node.state) : `leased (lease ${lease})`;
    const message = `it is ${use}, and ${why}`;
    return [
      newCondition(CONDITIONS, 'MachineUnusable', {
        ...{ name: nodeId, reason: 'Lost', message, nextStep, sinceMs, lastSeenMs, evidence },
      }),
    ];
  });
}

function failed(node: NodeRecord, status: DeletionStatus): FoundCondition {
  const { attempts, error = 'no reason is known', reason = 'Error', failedMs: lastSeenMs } = status;
  // advice on instances that do not become usable does not help with a deletion
  const ofInstance = reason === 'InstanceFailed';
  const advice = ofInstance ? LOOK_IN_CLOUD : adviceFor(reason, node.provider ?? '');
  return newCondition(CONDITIONS, 'DeletionFails', {
    ...{ name: node.id, reason, lastSeenMs, evidence: { ...evidenceOf(node), attempts } },
    message: `its deletion has failed ${attempts} times: ${error}`,
    nextStep: `${advice === '' ? '' : `${advice}; `}nodepool delete ${node.id} tries again at once`,
  });
}

function stuck(node: NodeRecord, locked: boolean): FoundCondition {
  const { id, externalId } = node;
  const instance = externalId === null ? 'its instance' : `instance ${idText(externalId)}`;
  const sinceMs = node.stateTimeMs;
  const minutes = LONGEST_DELETION_MS / 60_000;
  const common = { name: id, sinceMs, evidence: evidenceOf(node) };
  if (locked) {
    const message = `it has been deleting for more than ${minutes} minutes: the cloud does not end ${instance}`;
    const nextStep = `look at ${instance} with the tools of the cloud; the launcher continues by itself once it is gone`;
    return newCondition(CONDITIONS, 'DeletionTakesLong', { ...common, reason: 'StillInCloud', message, nextStep });
  }
  const message = `it has been deleting for more than ${minutes} minutes, and no launcher works on it`;
  return newCondition(CONDITIONS, 'DeletionTakesLong', {
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
