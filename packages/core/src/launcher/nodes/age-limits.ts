import { isZooKeeperError, leaseOf, type CancelTimer, type NodeId, type NodeRecord } from '@nodepool/zk-protocol';
import type { Context } from '../state/context.js';
import { ageLimitOf } from '../plan/nodes.js';
import { expireNode } from '../state/expire-node.js';
import type { ServerClock } from '../state/server-clock.js';
import type { ProviderSet } from '../providers/provider-set.js';

/** Pause before the retry for a node that was locked when it was due. */
const RETRY_MS = 10_000;

/**
 * Deletes ready nodes older than their label's `max-ready-age`, and held nodes older than `max-hold-age` or their own
 * `hold_expiration`, whichever is shorter. Nodes of leases count by the server's clock, as their leases do. One timer waits for
 * the next node that is due.
 */
export class AgeLimits {
  readonly #context: Context;
  readonly #providers: ProviderSet;
  readonly #serverClock: Pick<ServerClock, 'aheadMs'>;
  readonly #due = new Map<NodeId, number>();
  readonly #unsubscribe: () => void;
  #timer: { atMs: number; cancel: CancelTimer } | undefined;

  constructor(context: Context, providers: ProviderSet, serverClock: Pick<ServerClock, 'aheadMs'>) {
    this.#context = context;
    this.#providers = providers;
    this.#serverClock = serverClock;
    this.#unsubscribe = context.events.on('nodeChanged', ({ before, after }) => {
      if (after) this.#track(after);
      else if (before) this.#due.delete(before.id);
    });
  }

  stop(): void {
    this.#unsubscribe();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Checks every node again, after limits or providers have changed. */
  reload(): void {
    this.#due.clear();
    for (const node of this.#context.mirror.nodes.values()) this.#track(node);
  }

  #track(node: NodeRecord): void {
    const dueMs = this.#dueOf(node);
    if (dueMs === undefined) this.#due.delete(node.id);
    else this.#wait(node.id, dueMs);
  }

  #dueOf(node: NodeRecord): number | undefined {
    const limit = ageLimitOf(node, this.#context.config.now);
    if (!limit) return undefined;
    const aheadMs = leaseOf(node.userData) === undefined ? 0 : this.#serverClock.aheadMs;
    return node.stateTimeMs + limit.ms + aheadMs;
  }

  #wait(id: NodeId, dueMs: number): void {
    this.#due.set(id, dueMs);
    if (this.#timer && this.#timer.atMs <= dueMs) return;
    this.#timer?.cancel();
    const { clock } = this.#context;
    const cancel = clock.setTimer(Math.max(0, dueMs - clock.now()), () => void this.#expire());
    this.#timer = { atMs: dueMs, cancel };
  }

  async #expire(): Promise<void> {
    const { clock, mirror, logger } = this.#context;
    this.#timer = undefined;
    const now = clock.now();
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
      if (mirror.nodes.get(id) === node) this.#wait(id, clock.now() + RETRY_MS);
    }
    const [first] = [...this.#due].sort(([, a], [, b]) => a - b);
    if (first) this.#wait(...first);
  }

  /** Judges the node as it is now: it may have been renewed, leased or held while others were deleted. */
  #isLate(node: NodeRecord): boolean {
    const dueMs = this.#dueOf(node);
    return dueMs !== undefined && dueMs <= this.#context.clock.now();
  }
}
