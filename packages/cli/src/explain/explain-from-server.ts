import { RefusedError, type LeaseInfo, type NodepoolClient } from '@nodepool/client';
import type { ExplainSubject, RequestExplanation } from '@nodepool/core/launcher';
import { explanationFromJson, type SharedCondition } from '@nodepool/core/service';
import { CliError } from '../command/errors.js';
import { conditionsOf } from './ask-launchers.js';

/** What a server says about a request, labels, or a lease. */
export type ServerAnswer =
  | { readonly explanation: RequestExplanation; readonly conditions: readonly SharedCondition[] }
  | { readonly text: string };

/** Whether an id is that of a lease, or of nothing that a server explains: those of requests begin with their priority and a dash. */
export const isLeaseId = (id: string) => !id.includes('-');

/**
 * Asks a server why something waits.
 * @returns `undefined` if there is no such request (any more)
 * @throws CliError, NodepoolClientError
 */
export async function explainFromServer(
  client: NodepoolClient,
  subject: ExplainSubject,
): Promise<ServerAnswer | undefined> {
  if ('labels' in subject) return read(client, await client.explain({ labels: subject.labels }));
  if (!isLeaseId(subject.requestId)) return explainRequest(client, subject.requestId);
  const lease = await client.get(subject.requestId);
  return lease.explanation ? read(client, lease.explanation) : { text: leaseText(lease) };
}

async function explainRequest(client: NodepoolClient, request: string): Promise<ServerAnswer | undefined> {
  try {
    return read(client, await client.explain({ request }));
  } catch (error) {
    if (error instanceof RefusedError && error.code === 'unknown-request') return undefined;
    throw error;
  }
}

function read({ url }: NodepoolClient, body: Readonly<Record<string, unknown>>): ServerAnswer {
  const explanation = explanationFromJson(body);
  if (!explanation) throw new CliError(`The answer of ${url} is no explanation: is it a launcher of another version?`);
  return { explanation, conditions: conditionsOf(body).map((condition) => ({ ...condition, services: [url] })) };
}

function leaseText({ id, state, nodes, expires, endReason }: LeaseInfo): string {
  if (state === 'waiting') return `Lease ${id} waits; this launcher has not seen its request yet`;
  if (state !== 'active') return `Lease ${id} is over: ${endReason ?? state}`;
  const hosts = nodes.map(({ label, host, id: node }) => `${label} ${host ?? 'without an address'} (node ${node})`);
  return `Lease ${id} is active until ${expires?.toISOString() ?? 'it is returned'}: ${hosts.join(', ')}`;
}
