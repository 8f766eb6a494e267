import {
  isZooKeeperError,
  NODES_ROOT,
  nodeLockPath,
  nodePath,
  REQUEST_LOCKS_ROOT,
  requestLockPath,
  type NodeId,
  type Operation,
  type RequestId,
} from '@nodepool/zk-protocol';
import type { Context } from '../state/context.js';
import type { Occasion, Part } from '../state/part.js';

const REMOVALS_PER_TRANSACTION = 100;

/**
 * Removes lock directories of requests that are gone, and node records without a body, unless a process holds or waits for
 * the lock. A process may be about to create its entry in a lock directory, so a directory outlives its request by one sweep.
 */
export class OrphanedZnodes implements Part {
  readonly #context: Context;
  /** Lock directories without a request at the last sweep. */
  readonly #suspects = new Set<string>();

  constructor(context: Context) {
    this.#context = context;
  }

  async reconsider(occasion: Occasion): Promise<void> {
    if (occasion !== 'minute') return;
    await Promise.all([sweepRequestLocks(this.#context, this.#suspects), sweepEmptyNodes(this.#context)]);
  }
}

async function sweepRequestLocks(context: Context, suspects: Set<string>): Promise<void> {
  const { zk, mirror } = context;
  const ids = await zk.getChildren(REQUEST_LOCKS_ROOT);
  const orphans = ids.filter((id) => !mirror.requests.get(id));
  const removable = orphans.filter((id) => suspects.has(id));
  suspects.clear();
  for (const id of orphans) suspects.add(id);
  for (let i = 0; i < removable.length; i += REMOVALS_PER_TRANSACTION) {
    const batch = removable.slice(i, i + REMOVALS_PER_TRANSACTION);
    await removeDirectories(
      context,
      batch.map((id) => requestLockPath(id as RequestId)),
    );
  }
}

/** Removes directories in one transaction, or one by one if some are not empty or already gone. */
async function removeDirectories(context: Context, paths: readonly string[]): Promise<void> {
  try {
    await context.committer.commit(paths.map((path): Operation => ({ op: 'delete', path })));
  } catch (error) {
    if (!isZooKeeperError(error, 'ZK_NO_NODE', 'ZK_NOT_EMPTY')) throw error;
    await Promise.all(paths.map((path) => removeDirectory(context, path)));
  }
}

async function sweepEmptyNodes(context: Context): Promise<void> {
  const { zk, mirror, logger } = context;
  const unknown = (await zk.getChildren(NODES_ROOT)).filter((id) => !mirror.nodes.get(id));
  for (const id of unknown as NodeId[]) {
    try {
      const { data, stat } = await zk.getData(nodePath(id));
      if (data.length > 0) continue;
      await removeDirectory(context, nodeLockPath(id));
      await zk.delete(nodePath(id), stat.version);
      logger.info('Removed a node record without a body', { nodeId: id });
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_NO_NODE', 'ZK_NOT_EMPTY', 'ZK_BAD_VERSION')) throw error;
    }
  }
}

async function removeDirectory({ zk, logger }: Context, path: string): Promise<void> {
  try {
    await zk.delete(path);
  } catch (error) {
    if (isZooKeeperError(error, 'ZK_NO_NODE', 'ZK_NOT_EMPTY')) return;
    logger.debug('Could not remove a lock directory', { path, error });
  }
}
