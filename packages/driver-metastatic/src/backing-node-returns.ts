import type { ProviderContext } from '@nodepool/core';
import { isFree, isZooKeeperError, nodeLockPath, steadyNow, withNode, ZkLock } from '@nodepool/zk-protocol';
import type { CancelTimer, NodeId, NodeRecord } from '@nodepool/zk-protocol';
import type { BackingNode } from './backing-node.js';
import { setNode } from './claim-writer.js';
import type { SlotIndex } from './slot-index.js';
import type { BackingSettings } from './config.js';
import { formatBackingData, parseBackingData } from './user-data.js';

/** Delay after which other launchers return a backing node that its own launcher should have returned. */
const OTHER_LAUNCHER_DELAY_MS = 1_000;
/** Age at which the permanent lock of a returned node counts as an orphan of a dead launcher. */
const ORPHAN_MS = 30_000;
/** Delay before a due backing node is checked again while launches wait for slots. */
const IN_DEMAND_RECHECK_MS = 1_000;
const RETRY_MS = 250;
const NO_LIMITS = { graceTimeMs: 0, minRetentionTimeMs: 0, maxAgeMs: undefined };

/** `later`: try again. */
type Outcome = 'done' | 'later';

/** Dependencies of {@link BackingNodeReturns}. */
export interface ReturnOptions {
  readonly context: ProviderContext;
  /** Settings of a label; `undefined`: the label was removed, so its backing nodes get no more jobs. */
  readonly settingsOf: (label: string) => BackingSettings | undefined;
  readonly owner: string;
  readonly slots: () => SlotIndex;
  /** Whether this launcher took the node over. */
  readonly isOurs: (id: NodeId) => boolean;
}

/**
 * Returns backing nodes when they are due, and closes those that are too old or broken. One timer fires when the next
 * one is due.
 */
export class BackingNodeReturns {
  readonly #options: ReturnOptions;
  readonly #busy = new Set<NodeId>();
  readonly #running = new Set<Promise<void>>();
  #timer: { readonly atMs: number; readonly cancel: CancelTimer } | undefined;
  #stopped = false;

  constructor(options: ReturnOptions) {
    this.#options = options;
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Resolves when no write is pending. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** Checks one backing node: closes it, returns it, or sets the timer. */
  check(backing: BackingNode): void {
    if (this.#stopped || backing.ownership !== 'ours') return;
    const { clock } = this.#options.context;
    const now = steadyNow(clock);
    const limits = this.#options.settingsOf(backing.data.label) ?? { ...NO_LIMITS, maxAgeMs: -Infinity };
    const agedMs = limits.maxAgeMs === undefined ? Infinity : backing.launchedMs + limits.maxAgeMs;
    if (now >= agedMs && !backing.isDrained) {
      backing.isDrained = true;
      this.#options.slots().update(backing);
      return;
    }
    if (!backing.isClosed) this.#wakeAt(agedMs);
    if (!backing.isEmpty) {
      if (backing.isFailed && !backing.data.failed) this.#run(backing.id, () => this.#storeFailed(backing));
      if (backing.isClosed) this.#retireIdleSlots(backing.id);
      return;
    }
    const dueMs = this.#dueMs(backing, backing.isClosed ? NO_LIMITS : limits);
    if (now >= dueMs && this.#isInDemand(backing)) this.#wakeAt(now + IN_DEMAND_RECHECK_MS);
    else if (now >= dueMs) this.#run(backing.id, () => this.#release(backing));
    else this.#wakeAt(dueMs);
  }

  /** Periodic sweep over all backing nodes, in case a watch event was missed. */
  sweep(): void {
    if (this.#stopped) return;
    const { context, owner } = this.#options;
    const slots = this.#options.slots();
    this.checkAll();
    for (const id of [...slots.namedBackingNodes()]) if (!slots.get(id)) this.lost(id);
    for (const node of context.nodes.values()) {
      const isOver = node.state === 'used' || node.state === 'deleting';
      if (!isOver || context.nodes.contenders(node.id) === 0) continue;
      if (parseBackingData(node.userData, owner) && context.clock.now() - node.stateTimeMs > ORPHAN_MS) {
        this.#run(node.id, () => this.#removeOrphanLock(node.id));
      }
    }
  }

  /** Removes the free slots of a node that is no longer a backing node. */
  lost(id: NodeId): void {
    if (!this.#stopped && this.#options.context.nodes.ready) this.#retireIdleSlots(id);
  }

  /** Closes a broken backing node for all launchers. @param why - for people */
  fail(backing: BackingNode, why?: string): void {
    backing.isFailed = true;
    backing.failure = why;
    this.#options.slots().update(backing);
  }

  /** Checks every backing node, e.g. after labels were removed. */
  checkAll(): void {
    for (const backing of [...this.#options.slots().all()]) this.check(backing);
  }

  /** Returns all backing nodes without a slot in use, due or not. @returns whether none remain */
  async releaseEmpty(): Promise<boolean> {
    for (const backing of [...this.#options.slots().all()]) {
      if (backing.ownership === 'ours' && backing.isEmpty) this.#run(backing.id, () => this.#release(backing));
    }
    await this.settled();
    return [...this.#options.slots().all()].every((backing) => backing.ownership === 'foreign' || !backing.isEmpty);
  }

  /** Steady time. */
  #dueMs(backing: BackingNode, limits: { graceTimeMs: number; minRetentionTimeMs: number }): number {
    const dueMs = Math.max(backing.lastUsedMs + limits.graceTimeMs, backing.launchedMs + limits.minRetentionTimeMs);
    return this.#options.isOurs(backing.id) ? dueMs : Math.max(dueMs, backing.lastUsedMs) + OTHER_LAUNCHER_DELAY_MS;
  }

  /** Whether launches of any launcher are about to use its slots. */
  #isInDemand(backing: BackingNode): boolean {
    const { waiting, reserved } = this.#options.slots().label(backing.data.label);
    return !backing.isClosed && waiting.size > reserved;
  }

  /** @param atMs - steady time */
  #wakeAt(atMs: number): void {
    if (atMs === Infinity || (this.#timer && this.#timer.atMs <= atMs)) return;
    this.#timer?.cancel();
    const { clock } = this.#options.context;
    const cancel = clock.setTimer(Math.max(0, atMs - steadyNow(clock)), () => {
      this.#timer = undefined;
      this.checkAll();
    });
    this.#timer = { atMs, cancel };
  }

  /**
   * Runs one write at a time for each node, then checks its backing node again; after a failure, with a delay.
   * @param backingId - the backing node if the node is a slot
   */
  #run(id: NodeId, work: () => Promise<Outcome>, backingId = id): void {
    if (this.#busy.has(id)) return;
    this.#busy.add(id);
    const { clock, logger } = this.#options.context;
    const run = work()
      .catch((error: unknown) => {
        if (!isZooKeeperError(error)) logger.error('Backing node maintenance failed', { nodeId: id, error });
        else logger.debug('Backing node maintenance failed; retrying', { nodeId: id, error });
        return 'later' as const;
      })
      .then((outcome) => {
        this.#busy.delete(id);
        this.#running.delete(run);
        const backing = this.#options.slots().get(backingId);
        if (this.#stopped || !backing) return;
        if (outcome === 'later') this.#wakeAt(steadyNow(clock) + RETRY_MS);
        else this.check(backing);
      });
    this.#running.add(run);
  }

  /**
   * Changes state and permanent lock in one transaction, and only if the record was not written since it had no slot in
   * use: every claim of a slot writes it.
   */
  async #release(backing: BackingNode): Promise<Outcome> {
    const { context } = this.#options;
    const { record, lockEntry, data } = backing;
    if (lockEntry === undefined || backing.isWriting || !context.nodes.ready) return 'later';
    const used = withNode(record, { state: 'used' }, context.clock.now(), 'metastatic');
    await context.committer.commit([setNode(used), { op: 'delete', path: lockEntry }]);
    context.logger.info('Returned backing node', {
      nodeId: record.id,
      label: data.label,
      backingProvider: record.provider,
      ageMs: context.clock.now() - data.launchedMs,
    });
    return 'done';
  }

  async #storeFailed(backing: BackingNode): Promise<Outcome> {
    const { context } = this.#options;
    for (let attempt = 0; attempt < 10 && this.#options.slots().get(backing.id) === backing; attempt++) {
      if (backing.data.failed) return 'done';
      const claims = new Map(backing.occupied);
      const userData = formatBackingData({ ...backing.data, failed: true, claims });
      try {
        await context.committer.commit([setNode(withNode(backing.record, { userData }, context.clock.now()))]);
      } catch (error) {
        if (!isZooKeeperError(error, 'ZK_BAD_VERSION')) throw error;
        await context.nodes.settle(); // wait for the concurrent write to reach the cache
      }
    }
    return 'later';
  }

  async #removeOrphanLock(id: NodeId): Promise<Outcome> {
    const { context, owner } = this.#options;
    const holder = await ZkLock.lockHolder(context.zk, nodeLockPath(id));
    if (holder?.identifier !== owner) return 'done';
    await context.committer.commit([{ op: 'delete', path: holder.entryPath }]);
    context.logger.warn('Removed orphaned lock of a returned backing node', { nodeId: id });
    return 'done';
  }

  /** Deletes free ready nodes: otherwise they would keep a closed backing node indefinitely. */
  #retireIdleSlots(backing: NodeId): void {
    const { nodes } = this.#options.context;
    const failure = this.#options.slots().get(backing)?.failure;
    const comment = `backing node ${backing} gets no more jobs${failure === undefined ? '' : `: ${failure}`}`;
    for (const id of [...this.#options.slots().slotNodesOn(backing)]) {
      const node = nodes.get(id);
      const isIdle = node !== undefined && isFree(node) && nodes.contenders(id) === 0;
      if (isIdle) this.#run(id, () => this.#retire(node, comment), backing);
    }
  }

  async #retire({ id, pool }: NodeRecord, comment: string): Promise<Outcome> {
    const { context } = this.#options;
    if (!(await context.withdrawNode?.(id, comment))) return 'later';
    context.logger.info('Removed free slot: its backing node gets no more jobs', { nodeId: id, pool, why: comment });
    return 'done';
  }
}
