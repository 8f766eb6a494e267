import { withRequest } from '@nodepool/zk-protocol';
import type { RequestWork } from './request-work.js';
import type { StepTo } from './stage.js';

/**
 * Unlocks the nodes and writes `fulfilled` with their ids, in one transaction. When the request is gone or changed, or a
 * node is no longer ours, the work continues.
 */
export async function fulfil(work: RequestWork): Promise<StepTo<'collecting' | 'ended'>> {
  const { services, parts, nodes, pool, logger } = work;
  const nodeIds = parts.nodeIds();
  const unlocks = await nodes.unlockMost();
  const next = withRequest(work.request, { state: 'fulfilled', nodeIds }, services.clock.now(), 'launcher');
  const result = await work.heldRequest().writeOnly(next, unlocks);
  if (typeof result === 'object' && 'entry' in result) {
    pool.unlockLater(result.entry);
    logger.info('Fulfilled request', { nodes: nodeIds });
    return { name: 'ended', outcome: 'fulfilled' };
  }
  if (result === 'gone') work.tell('gone');
  else if (result === 'changed') await work.rereadRequest();
  else nodes.loseLock(result.node.path);
  return { name: 'collecting' };
}
