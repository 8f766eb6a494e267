import { isZooKeeperError, nodeLockPath, nodePath, ZkLock } from '@nodepool/zk-protocol';
import type { NodeId } from '@nodepool/zk-protocol';
import type { ProviderContext } from '@nodepool/core';

/** Reads from ZooKeeper what the cache does not hold. */
export class Inquiries {
  readonly #context: ProviderContext;
  readonly #asking = new Set<string>();

  constructor(context: ProviderContext) {
    this.#context = context;
  }

  /** Runs one query of a name at a time. After a connection error the next check runs it again. */
  async once(question: string, ask: () => Promise<void>): Promise<void> {
    if (this.#asking.has(question)) return;
    this.#asking.add(question);
    try {
      await ask();
    } catch (error) {
      if (!isZooKeeperError(error)) throw error;
      this.#context.logger.debug('Reading a backing node failed; retrying later', { question, error });
    } finally {
      this.#asking.delete(question);
    }
  }

  /** Whether a node exists and has data. */
  async hasRecord(node: NodeId): Promise<boolean> {
    try {
      return (await this.#context.zk.getData(nodePath(node))).data.length > 0;
    } catch (error) {
      if (isZooKeeperError(error, 'ZK_NO_NODE')) return false;
      throw error;
    }
  }

  /** Holder of the lock of a node, with the path of its entry; `undefined` if the lock is free. */
  lockHolder(node: NodeId): ReturnType<typeof ZkLock.lockHolder> {
    return ZkLock.lockHolder(this.#context.zk, nodeLockPath(node));
  }
}
