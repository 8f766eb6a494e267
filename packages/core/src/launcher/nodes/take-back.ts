import {
  decodeRequest,
  encodeNode,
  isZooKeeperError,
  NODE_CREATE_PATH,
  nodeLockPath,
  nodePath,
  requestPath,
  withNode,
  type NodeRecord,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import type { Provider } from '../../contract/driver.js';
import type { Context } from '../state/context.js';
import { holdsNodes } from '../plan/nodes.js';
import type { ProviderSet } from '../providers/provider-set.js';
import { UNALLOCATED } from '../requests/release.js';
import { createdPath, isRefusal, removeLockDirectory, setNode, Transaction } from '../state/transaction.js';

/** What is done to a node that is taken back: it becomes free again, or it is deleted with what is behind it. */
export class TakeBack {
  readonly #context: Context;
  readonly #providers: ProviderSet;
  readonly #signal: AbortSignal;

  /** @param signal - aborted when the launcher stops */
  constructor(context: Context, providers: ProviderSet, signal: AbortSignal) {
    this.#context = context;
    this.#providers = providers;
    this.#signal = signal;
  }

  /** The request this ready node was kept for does not want it any more: anybody may have it. */
  async deallocate(node: NodeRecord): Promise<void> {
    const { clock, committer, mirror, logger } = this.#context;
    if (node.allocatedTo === null || holdsNodes(await this.#readRequest(node.allocatedTo))) return;
    const transaction = new Transaction<'lock' | 'record'>();
    if (mirror.nodes.hasLockDirectory(node.id)) transaction.add('lock', removeLockDirectory(node));
    transaction.add('record', setNode(withNode(node, UNALLOCATED, clock.now())));
    await transaction.commit(committer);
    logger.info('Node is free again: its request does not want it any more', {
      nodeId: node.id,
      requestId: node.allocatedTo,
    });
  }

  /** The mirror may be behind: asks ZooKeeper. */
  async #readRequest(id: RequestId): Promise<RequestRecord | undefined> {
    const { zk, clock } = this.#context;
    try {
      const { data, stat } = await zk.getData(requestPath(id));
      return decodeRequest(id, data, stat, clock.now());
    } catch (error) {
      if (isZooKeeperError(error, 'ZK_NO_NODE')) return undefined;
      throw error;
    }
  }

  /**
   * Deletes the node's record, and the resource behind it first if there is one.
   * @returns `session-lost`: the lock went with the session, so the record stands and the node is to be looked at again
   */
  async delete(node: NodeRecord): Promise<'deleted' | 'session-lost'> {
    const provider = this.#providers.providerOf(node);
    const hasResource = provider !== undefined && node.state !== 'deleted' && this.#hasResource(provider, node);
    if (hasResource) return this.#deleteWithResource(provider, node);
    await this.#deleteRecord(provider, node);
    return 'deleted';
  }

  #hasResource(provider: Provider, node: NodeRecord): boolean {
    return provider.ownsResource?.(node) ?? node.externalId !== null;
  }

  /** Nothing is behind the record: one transaction, which cannot conflict with a holder of the lock. */
  async #deleteRecord(provider: Provider | undefined, node: NodeRecord): Promise<void> {
    const { committer, mirror, logger } = this.#context;
    const transaction = new Transaction<'lock' | 'record' | 'successor'>();
    if (mirror.nodes.hasLockDirectory(node.id)) transaction.add('lock', removeLockDirectory(node));
    transaction.add('record', deleteNode(node));
    const successor = provider?.successorOf?.(node);
    if (successor) {
      transaction.add('successor', {
        op: 'create',
        path: NODE_CREATE_PATH,
        data: encodeNode(successor),
        sequential: true,
      });
    }
    await transaction.commit(committer);
    logger.info('Deleted node', { nodeId: node.id, provider: node.provider, state: node.state });
    provider?.nodeDeletedNotification?.(node);
  }

  async #deleteWithResource(provider: Provider, node: NodeRecord): Promise<'deleted' | 'session-lost'> {
    const { zk, committer, mirror, clock, logger } = this.#context;
    const epoch = zk.sessionEpoch;
    const lock = new Transaction<'lock' | 'record'>();
    const index = lock.lock('lock', nodeLockPath(node.id), mirror.nodes.hasLockDirectory(node.id));
    lock.add('record', setNode(withNode(node, { state: 'deleting' }, clock.now(), 'launcher')));
    const entry = createdPath(await lock.commit(committer), index);
    let locked = mirror.nodes.get(node.id) ?? node;
    try {
      await provider.startNodeCleanup(locked, this.#signal);
      // whoever has the lock now, or we once more, will find nothing left
      if (zk.sessionEpoch !== epoch) return 'session-lost';
      locked = mirror.nodes.get(node.id) ?? locked;
      await this.#removeLocked(locked, entry);
    } catch (error) {
      if (!isZooKeeperError(error)) await this.#unlock(entry, epoch);
      throw error;
    }
    logger.info('Deleted node', { nodeId: node.id, provider: node.provider, externalId: node.externalId });
    provider.nodeDeletedNotification?.(locked);
    return 'deleted';
  }

  /**
   * Another process may be waiting for the lock: then the record is marked first, since that process reads it under the
   * lock.
   */
  async #removeLocked(node: NodeRecord, entry: string): Promise<void> {
    const { committer, clock, zk } = this.#context;
    const transaction = new Transaction<'lock' | 'record'>();
    transaction.add('lock', { op: 'delete', path: entry }, removeLockDirectory(node));
    transaction.add('record', deleteNode(node));
    try {
      await transaction.commit(committer);
    } catch (error) {
      if (!isRefusal(error) || error.kind !== 'locked') throw error;
      await committer.commit([setNode(withNode(node, { state: 'deleted' }, clock.now(), 'launcher'))]);
      await zk.deleteRecursive(nodePath(node.id));
    }
  }

  async #unlock(entry: string, epoch: number): Promise<void> {
    const { zk } = this.#context;
    await zk.whenConnected(this.#signal);
    if (zk.sessionEpoch !== epoch) return;
    try {
      await this.#context.committer.commit([{ op: 'delete', path: entry }]);
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_NO_NODE')) throw error;
    }
  }
}

function deleteNode(node: NodeRecord) {
  return { op: 'delete' as const, path: nodePath(node.id), version: node.stat?.version ?? -1 };
}
