import { setMaxListeners } from 'node:events';
import { isZooKeeperError, type CancelTimer, type NodeId, type NodeRecord } from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import type { Context } from '../state/context.js';
import { FIRST_POOL_PAUSE_MS } from '../health/first-pool.js';
import { holdsNodes, isUnwanted, judgeNode, NEVER_LOCKED_MS, type NodeFacts, type NodeVerdict } from '../plan/nodes.js';
import type { ProviderSet } from '../providers/provider-set.js';
import type { SharedPools } from '../registry/shared-pools.js';
import { removeAbandonedLocks } from '../requests/abandoned.js';
import { isRefusal } from '../state/transaction.js';
import { HoldOrders } from './hold-orders.js';
import { DeletionRetries, type DeletionStatus } from './deletion-retries.js';
import { TakeBack } from './take-back.js';

/**
 * Takes nodes back: unlocked nodes whose use is over are deleted, with what is behind them; ready nodes of withdrawn
 * requests are free again. Acts on the change of a record or the release of a lock, not on a timer.
 */
export class Reaper {
  readonly #context: Context;
  readonly #providers: ProviderSet;
  readonly #shared: SharedPools;
  readonly #busy = new Set<NodeId>();
  readonly #again = new Set<NodeId>();
  readonly #retries: DeletionRetries;
  /**
   * Nodes that are left for a moment to the launcher that is to deal with them first, should it be there. Those whose moment has
   * passed have no timer.
   */
  readonly #othersTurns = new Map<NodeId, CancelTimer | undefined>();
  readonly #takeBack: TakeBack;
  readonly #holds: HoldOrders;
  /** Pools that left the registry, and when. */
  readonly #gone = new Map<string, number>();
  /** Records in state `init` that no request wants, and since when that is known. */
  readonly #unwantedSinceMs = new Map<NodeId, number>();
  readonly #stop = new AbortController();
  readonly #unsubscribe: readonly (() => void)[];
  readonly #running = new Set<Promise<void>>();

  /** @param shared - tells which launcher is the first to take a node back */
  constructor(context: Context, providers: ProviderSet, shared: SharedPools) {
    this.#context = context;
    this.#providers = providers;
    this.#shared = shared;
    this.#retries = new DeletionRetries(context);
    this.#holds = new HoldOrders(context);
    this.#takeBack = new TakeBack(context, providers, this.#stop.signal);
    this.#retries.onDue((id) => this.consider(id));
    setMaxListeners(0, this.#stop.signal); // one for each deletion under way
    const endListening = context.mirror.listen({
      onNode: ({ id, after }) => {
        if (after?.state !== 'init') this.#unwantedSinceMs.delete(id as NodeId);
        if (after) this.consider(after.id);
        else this.#nodeGone(id as NodeId);
      },
      onLock: (id, contenders) => contenders === 0 && this.consider(id),
      onRequest: ({ id, after }) => {
        if (holdsNodes(after)) return;
        for (const node of context.mirror.allocatedTo(id)) this.consider(node);
      },
    });
    this.#unsubscribe = [endListening, context.controls.onChange(() => this.#ordersChanged())];
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
    const certainMs = this.#context.clock.now() - NEVER_LOCKED_MS;
    if (this.#context.life.isActive) this.#holds.removeStale();
    for (const [launcherId, leftMs] of this.#gone) if (leftMs < certainMs) this.#gone.delete(launcherId);
    let found = 0;
    for (const node of this.#context.mirror.nodes.values()) if (this.consider(node.id)) found++;
    return found;
  }

  /**
   * A pool left the registry: no launcher is going to lock the records that it had not locked yet, seen already or not.
   */
  poolLeft(launcherId: string): void {
    this.#gone.set(launcherId, this.#context.clock.now());
    for (const node of this.#context.mirror.nodes.values()) {
      if (node.launcher === launcherId && node.state === 'init') this.consider(node.id);
    }
  }

  /** It is registered, perhaps again: its session had ended, and it continues in a new one. */
  poolRegistered(launcherId: string): void {
    this.#gone.delete(launcherId);
  }

  /** Looks at one node; cheap when there is nothing to do. @returns whether work on it begins */
  consider(id: NodeId): boolean {
    if (this.#stop.signal.aborted || !this.#context.life.isActive) return false;
    const node = this.#context.mirror.nodes.get(id);
    if (!node) return false;
    const isLocked = this.#context.mirror.nodes.contenders(id) > 0;
    const verdict = isLocked ? 'keep' : judgeNode(node, this.#factsOf(node));
    if (verdict === 'keep') {
      this.#endOthersTurn(id);
      return false;
    }
    if (this.#retries.isPausing(id)) return false;
    if (this.#shared.isOthersFirst(node) && this.#isOthersTurn(id)) return false;
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

  #factsOf(node: NodeRecord): NodeFacts {
    const { id, allocatedTo, launcher, state } = node;
    const request = allocatedTo === null ? undefined : this.#context.mirror.requests.get(allocatedTo);
    return {
      request,
      unwantedForMs: state === 'init' && isUnwanted(node, request) ? this.#unwantedForMs(id) : 0,
      hasLauncherLeft: this.#gone.has(launcher ?? ''),
      isHoldOrdered: this.#holds.find(id) !== undefined,
      isOurs: this.#providers.providerOf(node) !== undefined,
    };
  }

  #unwantedForMs(id: NodeId): number {
    const nowMs = this.#context.clock.now();
    const sinceMs = this.#unwantedSinceMs.get(id) ?? nowMs;
    this.#unwantedSinceMs.set(id, sinceMs);
    return nowMs - sinceMs;
  }

  #ordersChanged(): void {
    for (const id of this.#holds.nodes()) this.consider(id);
  }

  /** The node is still to be left to the other launcher, whose moment begins when this is asked for the first time. */
  #isOthersTurn(id: NodeId): boolean {
    if (this.#othersTurns.has(id)) return this.#othersTurns.get(id) !== undefined;
    const over = () => {
      this.#othersTurns.set(id, undefined);
      this.consider(id);
    };
    this.#othersTurns.set(id, this.#context.clock.setTimer(FIRST_POOL_PAUSE_MS, over));
    return true;
  }

  /** There is nothing to do with the node; should there be again, the other launcher has another moment. */
  #endOthersTurn(id: NodeId): void {
    this.#othersTurns.get(id)?.();
    this.#othersTurns.delete(id);
  }

  /** Starts nothing new and resolves when what is under way has ended. */
  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#retries.stop();
    for (const id of this.#othersTurns.keys()) this.#endOthersTurn(id);
    await Promise.all(this.#running);
    this.#stop.abort(new Error('the launcher stops'));
  }

  async #work(node: NodeRecord, verdict: Exclude<NodeVerdict, 'keep'>): Promise<void> {
    const epoch = this.#context.zk.sessionEpoch;
    try {
      if (verdict === 'deallocate') await this.#takeBack.deallocate(node);
      else if (verdict === 'hold') await this.#holds.apply(node);
      else if ((await this.#takeBack.delete(node)) === 'session-lost') this.#again.add(node.id);
      this.#retries.done(node.id);
    } catch (error) {
      if (this.#stop.signal.aborted || isZooKeeperError(error)) {
        this.#context.logger.debug('Taking a node back was interrupted', { nodeId: node.id, error });
        // its lock may be ours without our knowing
        await removeAbandonedLocks(this.#context, { nodes: [node.id] }, epoch, this.#stop.signal);
        this.#retryLater(node.id);
        return;
      }
      if (isRefusal(error)) {
        this.#context.logger.debug('Node changed while it was taken back', { nodeId: node.id, change: error.kind });
        // what changed is reported by the watch, which brings us back here; a wrong guess about a directory is not
        if (error.kind.startsWith('directory')) this.#retryLater(node.id);
        return;
      }
      this.#context.logger.warn('Deleting a node failed; trying again later', { nodeId: node.id, error });
      this.#retryLater(node.id, asError(error));
    }
  }

  #retryLater(id: NodeId, error?: Error): void {
    if (this.#stop.signal.aborted || !this.#context.mirror.nodes.get(id)) return;
    this.#retries.retryLater(id, error);
  }

  /** Nothing is to be done for it, although this launcher failed: another one has succeeded. */
  #nodeGone(id: NodeId): void {
    this.#endOthersTurn(id);
    this.#retries.done(id);
  }
}
