import {
  delay,
  isZooKeeperError,
  nodeLockPath,
  requestLockPath,
  type NodeId,
  type RequestId,
} from '@nodepool/zk-protocol';
import type { Services } from '../mirror/services.js';

const RETRY_MS = 1_000;
/** So many attempts may well fail while the connection is unsteady. */
const QUIET_ATTEMPTS = 5;

/** Whose locks to look through. */
export interface Abandoned {
  /** The request, and the nodes allocated to it. */
  readonly request?: RequestId;
  readonly nodes?: readonly NodeId[];
}

/**
 * Removes lock entries of our own session that were left behind when the connection broke in the middle of a write, and
 * it was unknown whether the write had taken effect. With a new session there is nothing to remove.
 * @param epoch - of the session in which the write was begun
 */
export async function removeAbandonedLocks(
  services: Services,
  { request, nodes = [] }: Abandoned,
  epoch: number,
  signal: AbortSignal,
): Promise<void> {
  const { zk, clock, mirror, logger } = services;
  for (let attempt = 1; !signal.aborted && zk.sessionEpoch === epoch && zk.state !== 'CLOSED'; attempt++) {
    try {
      await zk.whenConnected(signal);
      if (zk.sessionEpoch !== epoch) return; // what is there now is of the new session
      await mirror.nodes.whenReady(signal);
      await mirror.nodes.settle(); // what the lost write made is ours to remove
      const all = new Set([...nodes, ...(request === undefined ? [] : mirror.allocatedTo(request))]);
      if (request !== undefined) await removeOwnEntries(services, requestLockPath(request));
      await Promise.all([...all].map((id) => removeOwnEntries(services, nodeLockPath(id))));
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

async function removeOwnEntries({ zk }: Services, root: string): Promise<void> {
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

async function childrenOf(zk: Services['zk'], root: string): Promise<string[]> {
  try {
    return await zk.getChildren(root);
  } catch (error) {
    if (isZooKeeperError(error, 'ZK_NO_NODE')) return [];
    throw error;
  }
}
