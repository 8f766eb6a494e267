import { setMaxListeners } from 'node:events';
import { isZooKeeperError, type NodeId, type NodeRecord } from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import type { Activity, NodeProviders } from '../mirror/ports.js';
import type { Services } from '../mirror/services.js';
import { holdsNodes, judgeNode, NEVER_LOCKED_MS, type NodeSurroundings, type NodeVerdict } from '../plan/nodes.js';
import { removeAbandonedLocks } from '../requests/abandoned.js';
import { isRefusal } from '../requests/transaction.js';
import { HoldOrders } from './hold-orders.js';
import { DeletionRetries, type DeletionStatus } from './deletion-retries.js';
import { OthersTurns } from './others-turns.js';
import { TakeBack } from './take-back.js';

/** What the reaper learns from the launcher around it. */
export interface ReaperPort extends Activity, NodeProviders {
  /** Another launcher that has the node's pool as well is the first to take it back. */
  readonly isOthersFirst: (node: NodeRecord) => boolean;
}

/**
 * Takes nodes back: unlocked nodes whose use is over are deleted, with what is behind them; ready nodes of withdrawn
 * requests are free again. Acts on the change of a record or the release of a lock, not on a timer.
 */
export class Reaper {
  readonly #services: Services;
  readonly #port: ReaperPort;
  readonly #busy = new Set<NodeId>();
  readonly #again = new Set<NodeId>();
  readonly #retries: DeletionRetries;
  readonly #turns: OthersTurns;
  readonly #takeBack: TakeBack;
  readonly #holds: HoldOrders;
  /** Pools that left the registry, and when. */
  readonly #gone = new Map<string, number>();
  /** Records that no launcher has locked and no request wants, and since when that is known. */
  readonly #neverLocked = new Map<NodeId, number>();
  readonly #stop = new AbortController();
  readonly #unsubscribe: readonly (() => void)[];
  readonly #running = new Set<Promise<void>>();
  readonly #surroundings: NodeSurroundings;

  constructor(services: Services, port: ReaperPort) {
    this.#services = services;
    this.#port = port;
    const { mirror, clock } = services;
    this.#retries = new DeletionRetries(services, (id) => this.consider(id));
    this.#turns = new OthersTurns(clock, (id) => this.consider(id));
    this.#holds = new HoldOrders(services);
    this.#takeBack = new TakeBack(services, port, this.#stop.signal);
    this.#surroundings = {
      seenForMs: ({ id }) => this.#seenForMs(id),
      isLocked: ({ id }) => mirror.nodes.contenders(id) > 0,
      requestOf: ({ allocatedTo }) => (allocatedTo === null ? undefined : mirror.requests.get(allocatedTo)),
      hasLauncherLeft: (launcherId) => this.#gone.has(launcherId),
      isHoldOrdered: ({ id }) => this.#holds.find(id) !== undefined,
      isOurs: (node) => port.providerOf(node) !== undefined,
    };
    setMaxListeners(0, this.#stop.signal); // one for each deletion under way
    const endListening = services.mirror.listen({
      onNode: ({ id, after }) => {
        if (after?.state !== 'init') this.#neverLocked.delete(id as NodeId);
        if (after) this.consider(after.id);
        else this.#nodeGone(id as NodeId);
      },
      onLock: (id, contenders) => contenders === 0 && this.consider(id),
      onRequest: ({ id, after }) => {
        if (holdsNodes(after)) return;
        for (const node of services.mirror.allocatedTo(id)) this.consider(node);
      },
    });
    this.#unsubscribe = [endListening, this.#holds.onChange((id) => this.consider(id))];
  }

  /** Whether a node is being worked on. */
  get isBusy(): boolean {
    return this.#running.size > 0;
  }

  /** Deletions that have failed at least once and will be tried again, without end. */
  failing(): DeletionStatus[] {
    return this.#retries.failing();
  }

  /**
   * Looks at every node: at the start, after a reconnect, and periodically, in case a watch event was missed.
   * @returns for how many there was something to do that was not being done
   */
  sweep(): number {
    const certainMs = this.#services.clock.now() - NEVER_LOCKED_MS;
    if (this.#port.isActive()) this.#holds.removeStale();
    for (const [launcherId, leftMs] of this.#gone) if (leftMs < certainMs) this.#gone.delete(launcherId);
    let found = 0;
    for (const node of this.#services.mirror.nodes.values()) if (this.consider(node.id)) found++;
    return found;
  }

  /**
   * A pool left the registry: no launcher is going to lock the records that it had not locked yet, seen already or not.
   */
  poolLeft(launcherId: string): void {
    this.#gone.set(launcherId, this.#services.clock.now());
    for (const node of this.#services.mirror.nodes.values()) {
      if (node.launcher === launcherId && node.state === 'init') this.consider(node.id);
    }
  }

  /** It is registered, perhaps again: its session had ended, and it continues in a new one. */
  poolRegistered(launcherId: string): void {
    this.#gone.delete(launcherId);
  }

  /** Looks at one node; cheap when there is nothing to do. @returns whether work on it begins */
  consider(id: NodeId): boolean {
    if (this.#stop.signal.aborted || !this.#port.isActive()) return false;
    const node = this.#services.mirror.nodes.get(id);
    if (!node) return false;
    const verdict = judgeNode(node, this.#surroundings);
    if (verdict === 'keep') {
      this.#turns.forget(id);
      return false;
    }
    if (this.#retries.isPausing(id)) return false;
    if (this.#port.isOthersFirst(node) && this.#turns.isOn(id)) return false;
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

  #seenForMs(id: NodeId): number {
    const nowMs = this.#services.clock.now();
    const sinceMs = this.#neverLocked.get(id) ?? nowMs;
    this.#neverLocked.set(id, sinceMs);
    return nowMs - sinceMs;
  }

  /** Starts nothing new and resolves when what is under way has ended. */
  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#retries.stop();
    this.#turns.stop();
    await Promise.all(this.#running);
    this.#stop.abort(new Error('the launcher stops'));
  }

  async #work(node: NodeRecord, verdict: Exclude<NodeVerdict, 'keep'>): Promise<void> {
    const epoch = this.#services.zk.sessionEpoch;
    try {
      if (verdict === 'deallocate') await this.#takeBack.deallocate(node);
      else if (verdict === 'hold') await this.#holds.apply(node);
      else if ((await this.#takeBack.delete(node)) === 'session-lost') this.#again.add(node.id);
      this.#retries.done(node.id);
    } catch (error) {
      if (this.#stop.signal.aborted || isZooKeeperError(error)) {
        this.#services.logger.debug('Taking a node back was interrupted', { nodeId: node.id, error });
        // its lock may be ours without our knowing
        await removeAbandonedLocks(this.#services, { nodes: [node.id] }, epoch, this.#stop.signal);
        this.#retryLater(node.id);
        return;
      }
      if (isRefusal(error)) {
        this.#services.logger.debug('Node changed while it was taken back', { nodeId: node.id, change: error.kind });
        // what changed is reported by the watch, which brings us back here; a wrong guess about a directory is not
        if (error.kind.startsWith('directory')) this.#retryLater(node.id);
        return;
      }
      this.#services.logger.warn('Deleting a node failed; trying again later', { nodeId: node.id, error });
      this.#retryLater(node.id, asError(error));
    }
  }

  #retryLater(id: NodeId, error?: Error): void {
    if (this.#stop.signal.aborted || !this.#services.mirror.nodes.get(id)) return;
    this.#retries.retryLater(id, error);
  }

  /** Nothing is to be done for it, although this launcher failed: another one has succeeded. */
  #nodeGone(id: NodeId): void {
    this.#turns.forget(id);
    this.#retries.done(id);
  }
}
