import { isZooKeeperError, steadyNow, type CancelTimer, type NodeId, type NodeRecord } from '@nodepool/zk-protocol';
import type { Context } from '../state/context.js';
import type { Part } from '../state/part.js';
import { ageLimitOf } from '../plan/nodes.js';
import { expireNode } from '../state/expire-node.js';
import type { ServerClock } from '../state/server-clock.js';
import type { ProviderSet } from '../providers/provider-set.js';

/** Pause before the retry for a node that was locked when it was due. */
const RETRY_MS = 10_000;

/**
 * Deletes ready nodes older than their label's `max-ready-age`, and held nodes older than `max-hold-age` or their own
 * `hold_expiration`, whichever is shorter. Holds count by the server's clock, as that of this computer may be set. A ready node counts
 * by steady time from when this launcher saw it become ready: were it too old by a wrong clock, so would be the one that replaces it.
 * One timer waits for the next node that is due.
 */
export class AgeLimits implements Part {
  readonly #context: Context;
  readonly #providers: ProviderSet;
  readonly #serverClock: Pick<ServerClock, 'now'>;
  /** Steady time. */
  readonly #due = new Map<NodeId, number>();
  /** When this launcher saw the node become ready. Steady time. */
  readonly #readySince = new Map<NodeId, number>();
  readonly #unsubscribe: () => void;
  #timer: { atMs: number; cancel: CancelTimer } | undefined;

  constructor(context: Context, providers: ProviderSet, serverClock: Pick<ServerClock, 'now'>) {
    this.#context = context;
    this.#providers = providers;
    this.#serverClock = serverClock;
    this.#unsubscribe = context.events.on('nodeChanged', ({ before, after }) => {
      this.#see(before, after);
      if (after) this.#track(after);
      else if (before) this.#due.delete(before.id);
    });
  }

  stop(): void {
    this.#unsubscribe();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Checks every node again: limits, providers or the clock of the server may have changed. */
  reconsider(): void {
    this.#due.clear();
    for (const node of this.#context.mirror.nodes.values()) this.#track(node);
  }

  #see(before: NodeRecord | undefined, after: NodeRecord | undefined): void {
    const isSame = before?.state === after?.state && before?.stateTimeMs === after?.stateTimeMs;
    const id = (after ?? before)?.id;
    if (isSame || id === undefined) return;
    const { mirror, clock } = this.#context;
    // what comes while records are read from the beginning may have been ready for long
    if (after?.state === 'ready' && mirror.nodes.ready) this.#readySince.set(id, steadyNow(clock));
    else this.#readySince.delete(id);
  }

  #track(node: NodeRecord): void {
    const leftMs = this.#leftOf(node);
    if (leftMs === undefined) this.#due.delete(node.id);
    else this.#wait(node.id, steadyNow(this.#context.clock) + leftMs);
  }

  /** How long the node may stay. */
  #leftOf(node: NodeRecord): number | undefined {
    const limit = ageLimitOf(node, this.#context.config.now);
    return limit && limit.ms - this.#ageOf(node);
  }

  #ageOf(node: NodeRecord): number {
    const sinceMs = this.#readySince.get(node.id);
    if (sinceMs !== undefined) return steadyNow(this.#context.clock) - sinceMs;
    const { state, stateTimeMs, stat } = node;
    // a state is neither older than its record nor younger than its last change, whatever the clock of its writer says
    const { ctime, mtime } = (state === 'ready' && stat) || { ctime: -Infinity, mtime: Infinity };
    return this.#serverClock.now() - Math.min(Math.max(stateTimeMs, ctime), mtime);
  }

  /** @param dueMs - steady time */
  #wait(id: NodeId, dueMs: number): void {
    this.#due.set(id, dueMs);
    if (this.#timer && this.#timer.atMs <= dueMs) return;
    this.#timer?.cancel();
    const { clock } = this.#context;
    const cancel = clock.setTimer(Math.max(0, dueMs - steadyNow(clock)), () => void this.#expire());
    this.#timer = { atMs: dueMs, cancel };
  }

  async #expire(): Promise<void> {
    const { clock, mirror, logger } = this.#context;
    this.#timer = undefined;
    const now = steadyNow(clock);
    const late = [...this.#due].filter(([, dueMs]) => dueMs <= now).map(([id]) => id);
    for (const id of late) this.#due.delete(id);
    for (const id of late) {
      const node = mirror.nodes.get(id);
      if (!node || !this.#isLate(node) || !this.#providers.providerOf(node)) continue;
      const why = node.state === 'hold' ? 'held for its time' : 'ready for longer than max-ready-age';
      try {
        if (this.#context.life.isActive && (await expireNode(this.#context, node, why))) continue;
      } catch (error) {
        if (!isZooKeeperError(error)) logger.error('Could not expire a node', { nodeId: id, error });
      }
      if (mirror.nodes.get(id) === node) this.#wait(id, steadyNow(clock) + RETRY_MS);
    }
    const [first] = [...this.#due].sort(([, a], [, b]) => a - b);
    if (first) this.#wait(...first);
  }

  /** Judges the node as it is now: it may have been renewed, leased or held while others were deleted. If it is not due, it waits. */
  #isLate(node: NodeRecord): boolean {
    const leftMs = this.#leftOf(node);
    if (leftMs !== undefined && leftMs > 0) this.#track(node);
    return leftMs !== undefined && leftMs <= 0;
  }
}
