import {
  isZooKeeperError,
  NODES_ROOT,
  nodeLockPath,
  nodePath,
  REQUEST_LOCKS_ROOT,
  requestLockPath,
  type NodeId,
  type RequestId,
} from '@nodepool/zk-protocol';
import type { Services } from '../fulfilment/services.js';

/**
 * Removes what nobody needs any more: lock directories of requests that are gone, and node records without a body. Both
 * only while nobody holds or waits for the lock.
 */
export class Leftovers {
  readonly #services: Services;
  readonly #unsubscribe: () => void;
  /** Lock directories without a request at the last sweep: a second look spares one just being made. */
  #suspects = new Set<string>();

  constructor(services: Services) {
    this.#services = services;
    this.#unsubscribe = services.mirror.listen({
      onRequest: ({ id, before, after }) => {
        // a request that this project's launchers fulfilled or declined has no lock directory any more
        const open = before?.state === 'requested' || before?.state === 'pending';
        if (!after && open) void this.#removeDirectory(requestLockPath(id as RequestId));
      },
    });
  }

  stop(): void {
    this.#unsubscribe();
  }

  /** The slow net: looks at all of them. */
  async sweep(): Promise<void> {
    await Promise.all([this.#sweepRequestLocks(), this.#sweepEmptyNodes()]);
  }

  async #sweepRequestLocks(): Promise<void> {
    const { zk, mirror } = this.#services;
    const ids = await zk.getChildren(REQUEST_LOCKS_ROOT);
    const orphans = ids.filter((id) => !mirror.requests.get(id));
    const certain = orphans.filter((id) => this.#suspects.has(id));
    this.#suspects = new Set(orphans);
    await Promise.all(certain.map((id) => this.#removeDirectory(requestLockPath(id as RequestId))));
  }

  async #sweepEmptyNodes(): Promise<void> {
    const { zk, mirror, logger } = this.#services;
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

  /** Refused, and rightly, when somebody is in it. */
  async #removeDirectory(path: string): Promise<void> {
    try {
      await this.#services.zk.delete(path);
    } catch (error) {
      if (isZooKeeperError(error, 'ZK_NO_NODE', 'ZK_NOT_EMPTY')) return;
      this.#services.logger.debug('Could not remove a lock directory', { path, error });
    }
  }
}
