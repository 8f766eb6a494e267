import type { RequestRecord } from '@nodepool/zk-protocol';
import { newCondition, type ConditionTypes, type FoundCondition } from '../../contract/condition.js';
import { firstOf } from '../../text/first-of.js';

/** Conditions of requests. */
export const CONDITIONS = {
  RequestsForgotten: {
    ...{ kind: 'zookeeper', severity: 'warning' },
    meaning:
      'requests have been `fulfilled` for more than ten minutes and their requestor has not taken the nodes, which no other client gets',
    reasons: { NotTaken: 'the message names the requests and their requestors' },
    nextStep: 'check whether the requestor runs; if no client waits for a request: nodepool cancel REQUEST',
  },
} as const satisfies ConditionTypes;

/** A requestor takes the nodes of a fulfilled request within seconds. */
const PATIENCE_MS = 600_000;
/** Requests named in one message. */
const MOST_NAMED = 5;

/** What is wrong with requests: some are fulfilled, and no client takes their nodes. */
export function requestConditions(requests: Iterable<RequestRecord>, nowMs: number): FoundCondition[] {
  const forgotten = [...requests]
    .filter(({ state, stateTimeMs }) => state === 'fulfilled' && nowMs - stateTimeMs > PATIENCE_MS)
    .sort((a, b) => a.stateTimeMs - b.stateTimeMs);
  const [first] = forgotten;
  if (!first) return [];
  const names = forgotten.map(({ id, requestor }) => `${id} of ${requestor ?? 'an unknown requestor'}`);
  const nodes = forgotten.reduce((sum, { nodeIds }) => sum + nodeIds.length, 0);
  return [
    newCondition(CONDITIONS, 'RequestsForgotten', {
      ...{ name: 'ensemble', reason: 'NotTaken', sinceMs: first.stateTimeMs + PATIENCE_MS },
      message: `requests that have been fulfilled for more than 10 minutes keep ${nodes} nodes that no client takes: ${firstOf(names, MOST_NAMED)}`,
      nextStep: `check whether ${first.requestor ?? 'the requestor'} runs; if no client waits for it: nodepool cancel ${first.id}`,
      evidence: { requests: forgotten.length, nodes },
    }),
  ];
}
