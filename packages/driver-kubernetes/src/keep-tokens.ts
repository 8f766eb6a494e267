import type { AdapterContext, NodeRecord } from '@nodepool/core';
import { mapOf } from '@nodepool/zk-protocol';
import type { Grants } from './grants.js';
import { isHalfOver } from './token.js';

/** What {@link keepTokens} works with. */
export interface TokenKeeper {
  readonly context: Pick<AdapterContext, 'clock' | 'logger' | 'ownNodes' | 'withdrawNode' | 'renewLogin'>;
  readonly grants: Pick<Grants, 'endingToken'>;
}

/** Replaces idle nodes when half of the life of their tokens is over, and gives held ones new tokens. */
export async function keepTokens(keeper: TokenKeeper, signal: AbortSignal): Promise<void> {
  const { clock, logger, ownNodes, withdrawNode } = keeper.context;
  const nowMs = clock.now();
  for (const node of ownNodes()) {
    if ((node.state !== 'ready' && node.state !== 'hold') || !isHalfOver(node, nowMs)) continue;
    try {
      if (node.state === 'hold') await renew(keeper, node, signal);
      else await withdrawNode?.(node.id, 'half of the life of its token is over');
    } catch (error) {
      logger.warn('A token ends soon and could not be replaced; trying again at the next check', {
        nodeId: node.id,
        error,
      });
    }
  }
}

/** Who logged in before uses the old token to its end. */
async function renew({ context, grants }: TokenKeeper, node: NodeRecord, signal: AbortSignal): Promise<void> {
  const port = mapOf(node.connectionPort);
  const { namespace, user } = port;
  if (!context.renewLogin || typeof namespace !== 'string' || typeof user !== 'string') return;
  const token = await grants.endingToken(namespace, user, context.logger, signal);
  await context.renewLogin(node.id, { ...port, token });
}
