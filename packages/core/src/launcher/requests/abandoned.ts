import {
  delay,
  isZooKeeperError,
  nodeLockPath,
  requestLockPath,
  type NodeId,
  type RequestId,
} from '@nodepool/zk-protocol';
import type { Context } from '../state/context.js';

const RETRY_MS = 1_000;
/** The first attempts often fail while the connection is unstable, so these are logged at debug level. */
const QUIET_ATTEMPTS = 5;

/** The records whose locks may have been left behind. */
export interface Abandoned {
  /** A request, with the nodes allocated to it. */
  readonly request?: RequestId;
  readonly nodes?: readonly NodeId[];
}

/**
 * Removes this session's lock entries that an unacknowledged write may have left behind. In a new session there is nothing to
 * remove.
 * @param epoch - of the session in which the write was sent
 */
export async function removeAbandonedLocks(
  context: Context,
  { request, nodes = [] }: Abandoned,
  epoch: number,
  signal: AbortSignal,
): Promise<void> {
  const { zk, clock, mirror, logger } = context;
  for (let attempt = 1; !signal.aborted && zk.sessionEpoch === epoch && zk.state !== 'CLOSED'; attempt++) {
    try {
      await zk.whenConnected(signal);
      if (zk.sessionEpoch !== epoch) return; // the remaining entries belong to the new session
      await mirror.nodes.whenReady(signal);
      await mirror.nodes.settle(); // shows the effects of the lost write
      const all = new Set([...nodes, ...(request === undefined ? [] : mirror.allocatedTo(request))]);
      if (request !== undefined) await removeOwnEntries(context, requestLockPath(request));
      await Promise.all([...all].map((id) => removeOwnEntries(context, nodeLockPath(id))));
      return;
    } catch (error) {
      if (signal.aborted) return;
      if (!isZooKeeperError(error)) throw error;
      const level = attempt <= QUIET_ATTEMPTS ? 'debug' : 'warn';
      logger[level]('Cannot remove locks that were left behind; trying again', {
        requestId: request,
        nodes,
        attempt,
        error,
      });
      // An abort ends the wait, and with it the loop.
      await delay(clock, RETRY_MS, signal).catch(() => undefined);
    }
  }
}

async function removeOwnEntries({ zk }: Context, root: string): Promise<void> {
  for (const name of await childrenOf(zk, root)) {
    const path = `${root}/${name}`;
    const stat = await zk.exists(path);
    if (stat?.ephemeralOwner !== zk.sessionId) continue;
    try {
      await zk.delete(path);
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_NO_NODE')) throw error;
    }
  }
}

async function childrenOf(zk: Context['zk'], root: string): Promise<string[]> {
  try {
    return await zk.getChildren(root);
  } catch (error) {
    if (isZooKeeperError(error, 'ZK_NO_NODE')) return [];
    throw error;
  }
}
