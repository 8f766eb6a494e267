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

const REMOVALS_PER_TRANSACTION = 100;

/**
 * Removes what is no longer needed: lock directories of requests that are gone, and node records without a body. Both
 * only while no process holds or waits for the lock. A process may be about to make an entry in a lock directory, so it
 * stays for one sweep longer than its request.
 */
export class Leftovers {
  readonly #context: Context;
  /** Lock directories without a request at the last sweep. */
  #suspects = new Set<string>();

  constructor(context: Context) {
    this.#context = context;
  }

  /** Looks at all of them. */
  async sweep(): Promise<void> {
    await Promise.all([this.#sweepRequestLocks(), this.#sweepEmptyNodes()]);
  }

  async #sweepRequestLocks(): Promise<void> {
    const { zk, mirror } = this.#context;
    const ids = await zk.getChildren(REQUEST_LOCKS_ROOT);
    const orphans = ids.filter((id) => !mirror.requests.get(id));
    const certain = orphans.filter((id) => this.#suspects.has(id));
    this.#suspects = new Set(orphans);
    for (let i = 0; i < certain.length; i += REMOVALS_PER_TRANSACTION) {
      await this.#removeAll(
        certain.slice(i, i + REMOVALS_PER_TRANSACTION).map((id) => requestLockPath(id as RequestId)),
      );
    }
  }

  /** All at once, or one by one when one of them has an entry or another launcher was quicker. */
  async #removeAll(paths: readonly string[]): Promise<void> {
    try {
      await this.#context.committer.commit(paths.map((path): Operation => ({ op: 'delete', path })));
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_NO_NODE', 'ZK_NOT_EMPTY')) throw error;
      await Promise.all(paths.map((path) => this.#removeDirectory(path)));
    }
  }

  async #sweepEmptyNodes(): Promise<void> {
    const { zk, mirror, logger } = this.#context;
    const unknown = (await zk.getChildren(NODES_ROOT)).filter((id) => !mirror.nodes.get(id));
    for (const id of unknown as NodeId[]) {
      try {
        const { data, stat } = await zk.getData(nodePath(id));
        if (data.length > 0) continue;
        await this.#removeDirectory(nodeLockPath(id));
        await zk.delete(nodePath(id), stat.version);
        logger.info('Removed a node record without a body', { nodeId: id });
      } catch (error) {
        if (!isZooKeeperError(error, 'ZK_NO_NODE', 'ZK_NOT_EMPTY', 'ZK_BAD_VERSION')) throw error;
      }
    }
  }

  /** Refused, and rightly, when the directory has an entry. */
  async #removeDirectory(path: string): Promise<void> {
    try {
      await this.#context.zk.delete(path);
    } catch (error) {
      if (isZooKeeperError(error, 'ZK_NO_NODE', 'ZK_NOT_EMPTY')) return;
      this.#context.logger.debug('Could not remove a lock directory', { path, error });
    }
  }
}
