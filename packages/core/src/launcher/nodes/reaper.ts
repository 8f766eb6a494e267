import { setMaxListeners } from 'node:events';
import {
  isZooKeeperError,
  nodeLockPath,
  nodePath,
  NODE_CREATE_PATH,
  encodeNode,
  requestPath,
  withNode,
  type CancelTimer,
  decodeRequest,
  type NodeId,
  type NodeRecord,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import type { Provider } from '../../contract/driver.js';
import { UNALLOCATED } from '../requests/release.js';
import type { Activity, NodeProviders } from '../mirror/ports.js';
import type { Services } from '../mirror/services.js';
import { holdsNodes, judgeNode, NEVER_LOCKED_MS, type NodeSurroundings, type NodeVerdict } from '../plan/nodes.js';
import { createdPath, isRefusal, removeLockDirectory, setNode, Transaction } from '../requests/transaction.js';
import { removeAbandonedLocks } from '../requests/abandoned.js';
import { backoffMs } from '../../async/backoff.js';

/** A deletion under way or waiting for its next try. */
export interface DeletionStatus {
  readonly nodeId: NodeId;
  readonly attempts: number;
  readonly error: string | undefined;
  readonly nextTryMs: number | undefined;
}

interface Deletion {
  attempts: number;
  error: string | undefined;
  nextTryMs: number | undefined;
  cancel: CancelTimer | undefined;
}

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 300_000;

/**
 * Takes nodes back: unlocked nodes whose use is over are deleted, with what is behind them; ready nodes of withdrawn
 * requests are free again. Acts on the change of a record or the release of a lock, not on a timer.
 */
export class Reaper {
  readonly #services: Services;
  readonly #port: Activity & NodeProviders;
  readonly #busy = new Set<NodeId>();
  readonly #again = new Set<NodeId>();
  readonly #waiting = new Map<NodeId, Deletion>();
  /** Pools that left the registry, and when. */
  readonly #gone = new Map<string, number>();
  readonly #stop = new AbortController();
  readonly #unsubscribe: () => void;
  readonly #running = new Set<Promise<void>>();
  readonly #surroundings: NodeSurroundings;

  constructor(services: Services, port: Activity & NodeProviders) {
    this.#services = services;
    this.#port = port;
    const { mirror, clock } = services;
    this.#surroundings = {
      nowMs: () => clock.now(),
      isLocked: ({ id }) => mirror.nodes.contenders(id) > 0,
      requestOf: ({ allocatedTo }) => (allocatedTo === null ? undefined : mirror.requests.get(allocatedTo)),
      hasLauncherLeft: (launcherId) => this.#gone.has(launcherId),
      isOurs: (node) => port.providerOf(node) !== undefined,
    };
    setMaxListeners(0, this.#stop.signal); // one for each deletion under way
    this.#unsubscribe = services.mirror.listen({
      onNode: ({ after }) => after && this.consider(after.id),
      onLock: (id, contenders) => contenders === 0 && this.consider(id),
      onRequest: ({ id, after }) => {
        if (holdsNodes(after)) return;
        for (const node of services.mirror.allocatedTo(id)) this.consider(node);
      },
    });
  }

  /** Whether a node is being worked on. */
  get isBusy(): boolean {
    return this.#running.size > 0;
  }

  /** Deletions that have failed at least once and will be tried again, for ever. */
  failing(): DeletionStatus[] {
    return [...this.#waiting]
      .filter(([, deletion]) => deletion.error !== undefined)
      .map(([nodeId, { attempts, error, nextTryMs }]) => ({ nodeId, attempts, error, nextTryMs }));
  }

  /**
   * Looks at every node: at the start, after a reconnect, and as a slow net under the watches.
   * @returns for how many there was something to do that was not being done
   */
  sweep(): number {
    const certainMs = this.#services.clock.now() - NEVER_LOCKED_MS;
    for (const [launcherId, leftMs] of this.#gone) if (leftMs < certainMs) this.#gone.delete(launcherId);
    let found = 0;
    for (const node of this.#services.mirror.nodes.values()) if (this.consider(node.id)) found++;
    return found;
  }

  /** A pool left the registry: records that it had not locked yet, seen already or not, nobody is going to lock. */
  poolLeft(launcherId: string): void {
    this.#gone.set(launcherId, this.#services.clock.now());
    for (const node of this.#services.mirror.nodes.values()) {
      if (node.launcher === launcherId && node.state === 'init') this.consider(node.id);
    }
  }

  /** It is registered, perhaps again: its session had ended, and it goes on in a new one. */
  poolRegistered(launcherId: string): void {
    this.#gone.delete(launcherId);
  }

  /** Looks at one node; cheap when there is nothing to do. @returns whether work on it begins */
  consider(id: NodeId): boolean {
    if (this.#stop.signal.aborted || !this.#port.isActive()) return false;
    const node = this.#services.mirror.nodes.get(id);
    if (!node) return false;
    const verdict = judgeNode(node, this.#surroundings);
    if (verdict === 'keep') return false;
    if (this.#waiting.get(id)?.cancel) return false;
    if (this.#busy.has(id)) {
      this.#again.add(id);
      return false;
    }
    this.#busy.add(id);
    const run = this.#work(node, verdict).finally(() => {
      this.#running.delete(run);
      this.#busy.delete(id);
      if (this.#again.delete(id)) this.consider(id);
    });
    this.#running.add(run);
    return true;
  }

  /** Starts nothing new and resolves when what is under way has ended. */
  async stop(): Promise<void> {
    this.#unsubscribe();
    for (const { cancel } of this.#waiting.values()) cancel?.();
    this.#waiting.clear();
    await Promise.all(this.#running);
    this.#stop.abort(new Error('the launcher stops'));
  }

  async #work(node: NodeRecord, verdict: Exclude<NodeVerdict, 'keep'>): Promise<void> {
    const epoch = this.#services.zk.sessionEpoch;
    try {
      if (verdict === 'deallocate') await this.#deallocate(node);
      else await this.#delete(node);
      this.#waiting.delete(node.id);
    } catch (error) {
      if (this.#stop.signal.aborted || isZooKeeperError(error)) {
        this.#services.logger.debug('Taking a node back was interrupted', { nodeId: node.id, error });
        // its lock may be ours without our knowing
        await removeAbandonedLocks(this.#services, { nodes: [node.id] }, epoch, this.#stop.signal);
        this.#retryLater(node, undefined);
        return;
      }
      if (isRefusal(error)) {
        this.#services.logger.debug('Node changed while it was taken back', { nodeId: node.id, change: error.kind });
        // what changed is reported by the watch, which brings us back here; a wrong guess about a directory is not
        if (error.kind.startsWith('directory')) this.#retryLater(node, undefined);
        return;
      }
      this.#services.logger.warn('Deleting a node failed; trying again later', { nodeId: node.id, error });
      this.#retryLater(node, error instanceof Error ? error.message : String(error));
    }
  }

  #retryLater(node: NodeRecord, error: string | undefined): void {
    if (this.#stop.signal.aborted) return;
    const { clock, random } = this.#services;
    const deletion = this.#waiting.get(node.id) ?? {
      attempts: 0,
      error: undefined,
      nextTryMs: undefined,
      cancel: undefined,
    };
    const first = error === undefined ? FIRST_RETRY_MS / 20 : FIRST_RETRY_MS;
    const pause = backoffMs(deletion.attempts, first, LONGEST_RETRY_MS, random);
    deletion.attempts++;
    deletion.error = error ?? deletion.error;
    deletion.nextTryMs = clock.now() + pause;
    deletion.cancel = clock.setTimer(pause, () => {
      deletion.cancel = undefined;
      this.consider(node.id);
    });
    this.#waiting.set(node.id, deletion);
  }

  /** The request this ready node was kept for does not want it any more: anybody may have it. */
  async #deallocate(node: NodeRecord): Promise<void> {
    const { clock, committer, mirror, logger } = this.#services;
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
    const { zk, clock } = this.#services;
    try {
      const { data, stat } = await zk.getData(requestPath(id));
      return decodeRequest(id, data, stat, clock.now());
    } catch (error) {
      if (isZooKeeperError(error, 'ZK_NO_NODE')) return undefined;
      throw error;
    }
  }

  async #delete(node: NodeRecord): Promise<void> {
    const provider = this.#port.providerOf(node);
    const hasResource = provider !== undefined && node.state !== 'deleted' && this.#hasResource(provider, node);
    if (hasResource) await this.#deleteWithResource(provider, node);
    else await this.#deleteRecord(provider, node);
  }

  #hasResource(provider: Provider, node: NodeRecord): boolean {
    return provider.ownsResource?.(node) ?? node.externalId !== null;
  }

  /** Nothing is behind the record: one transaction, which nobody holding the lock can lose to. */
  async #deleteRecord(provider: Provider | undefined, node: NodeRecord): Promise<void> {
    const { committer, mirror, logger } = this.#services;
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

  async #deleteWithResource(provider: Provider, node: NodeRecord): Promise<void> {
    const { zk, committer, mirror, clock, logger } = this.#services;
    const epoch = zk.sessionEpoch;
    const lock = new Transaction<'lock' | 'record'>();
    const index = lock.lock('lock', nodeLockPath(node.id), mirror.nodes.hasLockDirectory(node.id));
    lock.add('record', setNode(withNode(node, { state: 'deleting' }, clock.now(), 'launcher')));
    const entry = createdPath(await lock.commit(committer), index);
    let locked = mirror.nodes.get(node.id) ?? node;
    try {
      await provider.startNodeCleanup(locked, this.#stop.signal);
      if (zk.sessionEpoch !== epoch) {
        // the lock went with the session: whoever has it now, or we once more, will find nothing left
        this.#again.add(node.id);
        return;
      }
      locked = mirror.nodes.get(node.id) ?? locked;
      await this.#removeLocked(locked, entry);
    } catch (error) {
      if (!isZooKeeperError(error)) await this.#unlock(entry, epoch);
      throw error;
    }
    logger.info('Deleted node', { nodeId: node.id, provider: node.provider, externalId: node.externalId });
    provider.nodeDeletedNotification?.(locked);
  }

  /** Somebody may be waiting for the lock: then the record is marked first, as they look at it when they get it. */
  async #removeLocked(node: NodeRecord, entry: string): Promise<void> {
    const { committer, clock, zk } = this.#services;
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
    const { zk } = this.#services;
    await zk.whenConnected(this.#stop.signal);
    if (zk.sessionEpoch !== epoch) return;
    try {
      await this.#services.committer.commit([{ op: 'delete', path: entry }]);
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_NO_NODE')) throw error;
    }
  }
}

function deleteNode(node: NodeRecord) {
  return { op: 'delete' as const, path: nodePath(node.id), version: node.stat?.version ?? -1 };
}
