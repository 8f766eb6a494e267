import type { RequestRecord } from '@nodepool/zk-protocol';
import { newCondition } from '../../conditions/condition-types.js';
import type { FoundCondition } from '../../contract/condition.js';
import { firstOf } from '../../text/first-of.js';

/** A requestor takes the nodes of a fulfilled request within seconds. */
const PATIENCE_MS = 600_000;
/** Requests named in one message. */
const MOST_NAMED = 5;

/** Requests that are fulfilled, and whose nodes no client takes. */
export function forgottenRequests(requests: Iterable<RequestRecord>, nowMs: number): FoundCondition[] {
  const forgotten = [...requests]
    .filter(({ state, stateTimeMs }) => state === 'fulfilled' && nowMs - stateTimeMs > PATIENCE_MS)
    .sort((a, b) => a.stateTimeMs - b.stateTimeMs);
  const [first] = forgotten;
  if (!first) return [];
  const names = forgotten.map(({ id, requestor }) => `${id} of ${requestor ?? 'an unknown requestor'}`);
  const nodes = forgotten.reduce((sum, { nodeIds }) => sum + nodeIds.length, 0);
  return [
    newCondition('RequestsForgotten', {
      ...{ name: 'ensemble', reason: 'NotTaken', sinceMs: first.stateTimeMs + PATIENCE_MS },
      message: `requests that have been fulfilled for more than 10 minutes keep ${nodes} nodes that no client takes: ${firstOf(names, MOST_NAMED)}`,
      nextStep: `check whether ${first.requestor ?? 'the requestor'} runs; if no client waits for it: nodepool cancel ${first.id}`,
      evidence: { requests: forgotten.length, nodes },
    }),
  ];
}
