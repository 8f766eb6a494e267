import { isZooKeeperError, nodeLockPath, nodePath, ZkLock } from '@nodepool/zk-protocol';
import type { NodeId } from '@nodepool/zk-protocol';
import type { ProviderContext } from '@nodepool/core';

/** Questions to ZooKeeper about what the cache does not show. */
export class Inquiries {
  readonly #context: ProviderContext;
  readonly #asking = new Set<string>();

  constructor(context: ProviderContext) {
    this.#context = context;
  }

  /** One question of a kind at a time. A broken connection leaves it open until the next look. */
  async once(question: string, ask: () => Promise<void>): Promise<void> {
    if (this.#asking.has(question)) return;
    this.#asking.add(question);
    try {
      await ask();
    } catch (error) {
      if (!isZooKeeperError(error)) throw error;
      this.#context.logger.debug('Could not look into a backing node; looking again later', { question, error });
    } finally {
      this.#asking.delete(question);
    }
  }

  /** Whether a node exists and has a body. */
  async hasRecord(node: NodeId): Promise<boolean> {
    try {
      return (await this.#context.zk.getData(nodePath(node))).data.length > 0;
    } catch (error) {
      if (isZooKeeperError(error, 'ZK_NO_NODE')) return false;
      throw error;
    }
  }

  /** Who has the lock of a node, with the path of the entry; `undefined` when it is free. */
  lockHolder(node: NodeId): ReturnType<typeof ZkLock.lockHolder> {
    return ZkLock.lockHolder(this.#context.zk, nodeLockPath(node));
  }
}
