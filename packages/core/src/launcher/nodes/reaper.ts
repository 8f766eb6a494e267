import { setMaxListeners } from 'node:events';
import { isZooKeeperError, steadyNow, type NodeId, type NodeRecord } from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import { reasonOfError, type ErrorReason } from '../../conditions/error-reason.js';
import { FIRST_POOL_PAUSE_MS } from '../plan/first-pool.js';
import {
  holdsNodes,
  isLeftOut,
  isUnwanted,
  isUsed,
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
import type { RetryLimits } from '../state/retries.js';
import { isRefusal } from '../state/transaction.js';
import { WorkQueue, type Step } from '../../async/work-queue.js';
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

/** Why and when a deletion failed. */
type Failure = Required<Pick<DeletionStatus, 'error' | 'reason' | 'failedMs'>>;

/**
 * Takes nodes back: deletes unlocked nodes whose use is over, with the resources behind them, and deallocates ready nodes of
 * withdrawn requests. Acts on changes of records and releases of locks, not on a timer.
 */
export class Reaper implements Part {
  readonly #context: Context;
  readonly #providers: ProviderSet;
  readonly #pools: RegisteredPools;
  readonly #queue: WorkQueue<NodeId>;
  readonly #claims: ((node: NodeRecord) => (() => Promise<void>) | undefined)[] = [];
  readonly #unfinished: ((node: NodeRecord) => boolean)[] = [];
  readonly #failures = new Map<NodeId, Failure>();
  /** Since when nodes are left to the launcher that handles them first, in steady time. */
  readonly #leftSinceMs = new Map<NodeId, number>();
  /** Pools that left the registry, and when, in steady time. */
  readonly #gone = new Map<string, number>();
  /** Records in state `init` that no request wants, and since when that is known. */
  readonly #unwantedSinceMs = new Map<NodeId, number>();
  readonly #stop = new AbortController();
  readonly #unsubscribe: readonly (() => void)[];

  /** @param pools - show which launcher handles a node first */
  constructor(context: Context, providers: ProviderSet, pools: RegisteredPools) {
    this.#context = context;
    this.#providers = providers;
    this.#pools = pools;
    this.#queue = new WorkQueue(context, {
      decide: (id) => this.#decide(id),
      failed: (id, error) => this.#failed(id, error),
    });
    setMaxListeners(0, this.#stop.signal); // one for each deletion in progress
    const { events, mirror } = context;
    this.#unsubscribe = [
      events.on('nodeChanged', ({ id, before, after }) => this.#nodeChanged(id as NodeId, before, after)),
      events.on('nodeLockChanged', ({ id, contenders }) => contenders === 0 && this.#queue.add(id)),
      events.on('requestChanged', ({ id, after }) => {
        if (holdsNodes(after)) return;
        for (const node of mirror.allocatedTo(id)) this.#queue.add(node);
      }),
      events.on('poolChanged', (change) => this.#poolChanged(change)),
    ];
  }

  /** Asks the claim what to do with an unlocked node whose use is over, in place of its deletion. `undefined`: nothing. */
  claimUsed(claim: (node: NodeRecord) => (() => Promise<void>) | undefined): void {
    this.#claims.push(claim);
  }

  /** Keeps unlocked nodes of lost requests that can be finished: {@link NodeFacts.isUnfinished}. */
  keepUnfinished(isUnfinished: (node: NodeRecord) => boolean): void {
    this.#unfinished.push(isUnfinished);
  }

  #isUnfinished(node: NodeRecord): boolean {
    return this.#unfinished.some((isUnfinished) => isUnfinished(node));
  }

  /** Looks at a node again. */
  look(id: NodeId): void {
    this.#queue.add(id);
  }

  /** Nodes that are being taken back. */
  get busy(): readonly NodeId[] {
    return this.#queue.running;
  }

  /** Deletions that have failed at least once. They are retried indefinitely. */
  failing(): DeletionStatus[] {
    return [...this.#failures].map(([nodeId, failure]) => {
      const { failures: attempts, pauseMs } = this.#queue.failuresOf(nodeId);
      const nextTryMs = pauseMs === undefined ? undefined : this.#context.clock.now() + pauseMs;
      return { nodeId, attempts, ...failure, nextTryMs };
    });
  }

  /** Considers every node. */
  reconsider(occasion: Occasion): void {
    const certainMs = steadyNow(this.#context.clock) - NEVER_LOCKED_MS;
    for (const [launcherId, leftMs] of this.#gone) if (leftMs < certainMs) this.#gone.delete(launcherId);
    let found = 0;
    for (const node of this.#context.mirror.nodes.values()) if (this.#queue.add(node.id)) found++;
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
      if (node.launcher === launcherId && node.state === 'init') this.#queue.add(node.id);
    }
  }

  #decide(id: NodeId): Step | undefined {
    const node = this.#context.life.isActive ? this.#context.mirror.nodes.get(id) : undefined;
    const verdict = node && this.#judge(node);
    if (!node || verdict === 'keep' || verdict === undefined) {
      this.#leftSinceMs.delete(id);
      return undefined;
    }
    const afterMs = this.#pools.isFirstPoolFor(node) ? 0 : this.#leftToFirstMs(id);
    return { run: () => this.#work(node, verdict), afterMs };
  }

  /** How long the node is still left to another launcher. The first call starts the time for that. */
  #leftToFirstMs(id: NodeId): number {
    const nowMs = steadyNow(this.#context.clock);
    const sinceMs = this.#leftSinceMs.get(id) ?? nowMs;
    this.#leftSinceMs.set(id, sinceMs);
    return sinceMs + FIRST_POOL_PAUSE_MS - nowMs;
  }

  #judge(node: NodeRecord): NodeVerdict {
    if (this.#context.mirror.nodes.contenders(node.id) === 0) return judgeNode(node, this.#factsOf(node));
    this.#unwantedSinceMs.delete(node.id);
    return 'keep';
  }

  #factsOf(node: NodeRecord): NodeFacts {
    const { id, allocatedTo, launcher, state } = node;
    const { requests } = this.#context.mirror;
    const request = allocatedTo === null ? undefined : requests.get(allocatedTo);
    const isRequestLocked = allocatedTo !== null && requests.contenders(allocatedTo) > 0;
    const isUnused = (state === 'init' && isUnwanted(node, request)) || isLeftOut(node, { request, isRequestLocked });
    return {
      ...{ request, isRequestLocked },
      unwantedForMs: isUnused ? this.#unwantedForMs(id) : 0,
      hasLauncherLeft: this.#gone.has(launcher ?? ''),
      isOurs: this.#providers.providerOf(node) !== undefined,
      isUnfinished: this.#isUnfinished(node),
    };
  }

  #unwantedForMs(id: NodeId): number {
    const nowMs = steadyNow(this.#context.clock);
    const sinceMs = this.#unwantedSinceMs.get(id) ?? nowMs;
    this.#unwantedSinceMs.set(id, sinceMs);
    return nowMs - sinceMs;
  }

  #nodeChanged(id: NodeId, before: NodeRecord | undefined, node: NodeRecord | undefined): void {
    this.#unwantedSinceMs.delete(id);
    if (node) {
      // an operator has ordered the deletion again: launchers keep the time
      const isOrdered = before?.state === 'deleting' && node.state === 'deleting';
      if (isOrdered && before.stateTimeMs !== node.stateTimeMs) this.#queue.addNow(id);
      else this.#queue.add(id);
    } else {
      this.#leftSinceMs.delete(id);
      this.#failures.delete(id);
      this.#queue.forget(id);
    }
  }

  readonly drains = 'deletions';

  drain(): Promise<void> {
    return this.stop();
  }

  /** Starts no new work, and resolves when the work in progress has ended. */
  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#failures.clear();
    await this.#queue.stop();
    this.#stop.abort(new Error('the launcher stops'));
  }

  async #work(node: NodeRecord, verdict: Exclude<NodeVerdict, 'keep'>): Promise<void> {
    const epoch = this.#context.zk.sessionEpoch;
    try {
      await this.#carryOut(node, verdict);
      this.#failures.delete(node.id);
    } catch (error) {
      // this process may hold the lock without knowing it
      if (this.#stop.signal.aborted || isZooKeeperError(error))
        await removeAbandonedLocks(this.#context, { nodes: [node.id] }, epoch, this.#stop.signal);
      throw error;
    }
  }

  #failed(nodeId: NodeId, error: unknown): RetryLimits | undefined {
    const { clock, mirror, logger } = this.#context;
    if (this.#stop.signal.aborted || isZooKeeperError(error)) {
      logger.debug('Taking a node back was interrupted', { nodeId, error });
      return RETRY_SOON;
    }
    if (isRefusal(error)) {
      logger.debug('Node changed while it was taken back', { nodeId, change: error.kind });
      // a watch event reports the change and leads back here, unless only the guess about the lock directory was wrong
      return error.kind.startsWith('directory') ? RETRY_SOON : undefined;
    }
    logger.warn('Deleting a node failed; trying again later', { nodeId, error });
    const failure = { error: asError(error).message, reason: reasonOfError(error), failedMs: clock.now() };
    if (mirror.nodes.get(nodeId)) this.#failures.set(nodeId, failure);
    return RETRY;
  }

  async #carryOut(node: NodeRecord, verdict: Exclude<NodeVerdict, 'keep'>): Promise<void> {
    if (verdict === 'deallocate') return deallocateNode(this.#context, node, isLeftOut(node, this.#factsOf(node)));
    for (const claim of isUsed(node) ? this.#claims : []) {
      const work = claim(node);
      if (work) return work();
    }
    if (this.#isUnfinished(node) && !(await this.#isStillGarbage(node.id))) return;
    const provider = this.#providers.providerOf(node);
    const result = await deleteNode(this.#context, node, provider, this.#stop.signal);
    if (result === 'session-lost') this.#queue.add(node.id);
  }

  /** Locks of a node and its request end together, and the mirror shows that one after the other. */
  async #isStillGarbage(id: NodeId): Promise<boolean> {
    const { nodes, requests } = this.#context.mirror;
    await Promise.all([nodes.settle(), requests.settle()]);
    const node = nodes.get(id);
    return node !== undefined && this.#judge(node) === 'delete';
  }
}
