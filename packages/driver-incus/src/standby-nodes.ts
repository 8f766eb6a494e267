import type { AdapterContext, NodeRecord } from '@nodepool/core';
import type { ApiInstance } from './api.js';

type Context = Pick<AdapterContext, 'nodes' | 'logger' | 'withdrawNode'>;

/** Ready nodes of a provider that no request has. @param nodes - of all providers */
export function standbyNodes(provider: string, nodes: Iterable<NodeRecord>): NodeRecord[] {
  return [...nodes].filter((node) => node.provider === provider && node.state === 'ready' && node.allocatedTo === null);
}

/**
 * Withdraws nodes whose instance was stopped or deleted by another program, or has not come back with the server, so that no
 * job gets them.
 * @param standby - nodes that were ready before the instances were listed
 */
export async function withdrawStopped(
  standby: readonly NodeRecord[],
  shown: readonly ApiInstance[],
  { logger, withdrawNode, nodes }: Context,
): Promise<void> {
  const statuses = new Map(shown.map(({ name, status }) => [name, status]));
  for (const { id: nodeId, externalId } of standby) {
    // it may have been stopped on purpose since
    if (typeof externalId !== 'string' || nodes.get(nodeId)?.state !== 'ready') continue;
    const status = statuses.get(externalId);
    if (status !== undefined && status !== 'Stopped') continue;
    const why = status === undefined ? 'its instance does not exist any more' : 'its instance is stopped';
    if (await withdrawNode?.(nodeId, why)) logger.warn('Withdrawing a node', { nodeId, externalId, why });
  }
}
