import { setMaxListeners } from 'node:events';
import { isZooKeeperError, type CancelTimer, type NodeId, type NodeRecord, steadyNow } from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import { reasonOfError, type ErrorReason } from '../../conditions/error-reason.js';
import { FIRST_POOL_PAUSE_MS } from '../health/first-pool.js';
import {
  holdsNodes,
  isResumable,
  isUnwanted,
  judgeNode,
  NEVER_LOCKED_MS,
  type NodeFacts,
  type NodeVerdict,
} from '../plan/nodes.js';
import type { ProviderSet } from '../providers/provider-set.js';
import type { RegisteredPools } from '../registry/registered-pools.js';
import { removeAbandonedLocks } from '../requests/abandoned.js';
import type { Context } from '../state/context.js';
import type { PoolChange } from '../state/events.js';
import type { Occasion, Part } from '../state/part.js';
import { Retries } from '../state/retries.js';
import { isRefusal } from '../state/transaction.js';
import { findHoldOrder, holdNode, nodesToHold, removeStaleHoldOrders } from './hold-orders.js';
import { deallocateNode, deleteNode } from './take-back.js';

/** A deletion that was interrupted or has failed, and is retried. */
export interface DeletionStatus {
  readonly nodeId: NodeId;
  readonly attempts: number;
  /** The last error; `undefined` if it was interrupted only. */
  readonly error: string | undefined;
  /** Class and time of that error. */
  readonly reason: ErrorReason | undefined;
  readonly failedMs: number | undefined;
  readonly nextTryMs: number | undefined;
}

const RETRY = { firstMs: 1_000, longestMs: 300_000 };
/** After a deletion that was interrupted and did not fail. */
const RETRY_SOON = { ...RETRY, firstMs: 50 };
const FIRST_ATTEMPT = { attempts: 0, error: undefined, reason: undefined, failedMs: undefined };

/**
 * Takes nodes back: deletes unlocked nodes whose use is over, with the resources behind them, and deallocates ready nodes of
 * withdrawn requests. Acts on changes of records and releases of locks, not on a timer.
 */
export class Reaper implements Part {
  readonly #context: Context;
  readonly #providers: ProviderSet;
  readonly #pools: RegisteredPools;
  readonly #busy = new Set<NodeId>();
  /** Busy nodes to consider again afterwards. */
  readonly #again = new Set<NodeId>();
  readonly #retries: Retries<NodeId>;
  readonly #deletions = new Map<NodeId, DeletionStatus>();
  /** Nodes that are left for a moment to the launcher that handles them first; the timer is removed once that has passed. */
  readonly #deferred = new Map<NodeId, CancelTimer | undefined>();
  /** Pools that left the registry, and when, in steady time. */
  readonly #gone = new Map<string, number>();
  /** Records in state `init` that no request wants, and since when that is known. */
  readonly #unwantedSinceMs = new Map<NodeId, number>();
  readonly #stop = new AbortController();
  readonly #unsubscribe: readonly (() => void)[];
  readonly #running = new Set<Promise<void>>();

  /** @param pools - show which launcher handles a node first */
  constructor(context: Context, providers: ProviderSet, pools: RegisteredPools) {
    this.#context = context;
    this.#providers = providers;
    this.#pools = pools;
    this.#retries = new Retries(context);
    setMaxListeners(0, this.#stop.signal); // one for each deletion in progress
    const { events, mirror } = context;
    this.#unsubscribe = [
      events.on('nodeChanged', ({ id, before, after }) => this.#nodeChanged(id as NodeId, before, after)),
      events.on('nodeLockChanged', ({ id, contenders }) => contenders === 0 && this.consider(id)),
      events.on('requestChanged', ({ id, after }) => {
        if (holdsNodes(after)) return;
        for (const node of mirror.allocatedTo(id)) this.consider(node);
      }),
      events.on('poolChanged', (change) => this.#poolChanged(change)),
      events.on('ordersChanged', () => nodesToHold(context).forEach((id) => this.consider(id))),
    ];
  }

  /** Whether work on a node is in progress. */
  get isBusy(): boolean {
    return this.#running.size > 0;
  }

  /** Nodes that are being taken back. */
  get busy(): NodeId[] {
    return [...this.#busy];
  }

  /** Deletions that have failed at least once. They are retried indefinitely. */
  failing(): DeletionStatus[] {
    return [...this.#deletions.values()].filter(({ error }) => error !== undefined);
  }

  /** Considers every node. */
  reconsider(occasion: Occasion): void {
    const certainMs = steadyNow(this.#context.clock) - NEVER_LOCKED_MS;
    if (this.#context.life.isActive) removeStaleHoldOrders(this.#context);
    for (const [launcherId, leftMs] of this.#gone) if (leftMs < certainMs) this.#gone.delete(launcherId);
    let found = 0;
    for (const node of this.#context.mirror.nodes.values()) if (this.consider(node.id)) found++;
    if (occasion === 'minute') this.#context.metrics?.sweepFound('deletion', found);
  }

  /** Once a pool has left the registry, no launcher locks the records that it created and had not locked. */
  #poolChanged({ before, after }: PoolChange): void {
    if (after) this.#gone.delete(after.launcherId);
    if (before && !this.#pools.has(before.launcherId)) this.#poolLeft(before.launcherId);
  }

  #poolLeft(launcherId: string): void {
    this.#gone.set(launcherId, steadyNow(this.#context.clock));
    for (const node of this.#context.mirror.nodes.values()) {
      if (node.launcher === launcherId && node.state === 'init') this.consider(node.id);
    }
  }

  /** Considers one node; cheap if there is nothing to do. @returns whether it started work on the node */
  consider(id: NodeId): boolean {
    if (this.#stop.signal.aborted || !this.#context.life.isActive) return false;
    const node = this.#context.mirror.nodes.get(id);
    if (!node) return false;
    const verdict = this.#judge(node);
    if (verdict === 'keep') {
      this.#endDeferral(id);
      return false;
    }
    if (this.#retries.isPausing(id)) return false;
    if (!this.#pools.isFirstPoolFor(node) && this.#isDeferred(id)) return false;
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

  #judge(node: NodeRecord): NodeVerdict {
    const isLocked = this.#context.mirror.nodes.contenders(node.id) > 0;
    return isLocked ? 'keep' : judgeNode(node, this.#factsOf(node));
  }

  #factsOf(node: NodeRecord): NodeFacts {
    const { id, allocatedTo, launcher, state } = node;
    const { requests } = this.#context.mirror;
    const request = allocatedTo === null ? undefined : requests.get(allocatedTo);
    return {
      request,
      isRequestLocked: allocatedTo !== null && requests.contenders(allocatedTo) > 0,
      unwantedForMs: state === 'init' && isUnwanted(node, request) ? this.#unwantedForMs(id) : 0,
      hasLauncherLeft: this.#gone.has(launcher ?? ''),
      isHoldOrdered: findHoldOrder(this.#context, id) !== undefined,
      isOurs: this.#providers.providerOf(node) !== undefined,
    };
  }

  #unwantedForMs(id: NodeId): number {
    const nowMs = steadyNow(this.#context.clock);
    const sinceMs = this.#unwantedSinceMs.get(id) ?? nowMs;
    this.#unwantedSinceMs.set(id, sinceMs);
    return nowMs - sinceMs;
  }

  #nodeChanged(id: NodeId, before: NodeRecord | undefined, node: NodeRecord | undefined): void {
    if (node?.state !== 'init') this.#unwantedSinceMs.delete(id);
    if (node) {
      // an operator has ordered the deletion again: launchers keep the time
      const isOrdered = before?.state === 'deleting' && node.state === 'deleting';
      if (isOrdered && before.stateTimeMs !== node.stateTimeMs) this.#retries.endPause(id);
      this.consider(id);
    } else {
      this.#endDeferral(id);
      this.#done(id);
    }
  }

  /** Whether the node is still left to another launcher. The first call starts the time for that. */
  #isDeferred(id: NodeId): boolean {
    if (this.#deferred.has(id)) return this.#deferred.get(id) !== undefined;
    const over = () => {
      this.#deferred.set(id, undefined);
      this.consider(id);
    };
    this.#deferred.set(id, this.#context.clock.setTimer(FIRST_POOL_PAUSE_MS, over));
    return true;
  }

  /** The node needs no work; if it does later, it is left to the other launcher again. */
  #endDeferral(id: NodeId): void {
    this.#deferred.get(id)?.();
    this.#deferred.delete(id);
  }

  readonly drain = { what: 'deletions', finish: () => this.stop() };

  /** Starts no new work, and resolves when the work in progress has ended. */
  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#retries.stop();
    this.#deletions.clear();
    for (const id of this.#deferred.keys()) this.#endDeferral(id);
    await Promise.all(this.#running);
    this.#stop.abort(new Error('the launcher stops'));
  }

  async #work(node: NodeRecord, verdict: Exclude<NodeVerdict, 'keep'>): Promise<void> {
    const epoch = this.#context.zk.sessionEpoch;
    try {
      await this.#carryOut(node, verdict);
      this.#done(node.id);
    } catch (error) {
      if (this.#stop.signal.aborted || isZooKeeperError(error)) {
        this.#context.logger.debug('Taking a node back was interrupted', { nodeId: node.id, error });
        // this process may hold the lock without knowing it
        await removeAbandonedLocks(this.#context, { nodes: [node.id] }, epoch, this.#stop.signal);
        this.#retryLater(node.id);
      } else if (isRefusal(error)) {
        this.#context.logger.debug('Node changed while it was taken back', { nodeId: node.id, change: error.kind });
        // a watch event reports the change and leads back here, unless only the guess about the lock directory was wrong
        if (error.kind.startsWith('directory')) this.#retryLater(node.id);
      } else {
        this.#context.logger.warn('Deleting a node failed; trying again later', { nodeId: node.id, error });
        this.#retryLater(node.id, asError(error));
      }
    }
  }

  async #carryOut(node: NodeRecord, verdict: Exclude<NodeVerdict, 'keep'>): Promise<void> {
    if (verdict === 'deallocate') return deallocateNode(this.#context, node);
    if (verdict === 'hold') return holdNode(this.#context, node);
    if (isResumable(node) && !(await this.#isStillGarbage(node.id))) return;
    const provider = this.#providers.providerOf(node);
    const result = await deleteNode(this.#context, node, provider, this.#stop.signal);
    if (result === 'session-lost') this.#again.add(node.id);
  }

  /** Locks of a node and its request end together, and the mirror shows that one after the other. */
  async #isStillGarbage(id: NodeId): Promise<boolean> {
    const { nodes, requests } = this.#context.mirror;
    await Promise.all([nodes.settle(), requests.settle()]);
    const node = nodes.get(id);
    return node !== undefined && this.#judge(node) === 'delete';
  }

  #retryLater(nodeId: NodeId, error?: Error): void {
    const { clock, mirror } = this.#context;
    if (this.#stop.signal.aborted || !mirror.nodes.get(nodeId)) return;
    const pauseMs = this.#retries.schedule(nodeId, error ? RETRY : RETRY_SOON, () => this.consider(nodeId));
    const nowMs = clock.now();
    const before = this.#deletions.get(nodeId) ?? FIRST_ATTEMPT;
    const failure = error && { error: error.message, reason: reasonOfError(error), failedMs: nowMs };
    const attempts = before.attempts + 1;
    this.#deletions.set(nodeId, { ...before, nodeId, attempts, ...failure, nextTryMs: nowMs + pauseMs });
  }

  /** The node has been taken back, by this launcher or another. */
  #done(id: NodeId): void {
    this.#retries.forget(id);
    this.#deletions.delete(id);
  }
}
