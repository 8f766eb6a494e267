import {
  isZooKeeperError,
  LEASE_REQUESTOR,
  leaseOf,
  type LeaseRecord,
  type NodeRecord,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import type { Context } from '../../launcher/state/context.js';
import type { Part } from '../../launcher/state/part.js';
import { isRefusal } from '../../launcher/state/transaction.js';
import { WorkQueue, type Step } from '../../async/work-queue.js';
import { poolNames, reasonsByPool } from '../../text/decline-reasons.js';
import { activate, removeLease, removeRequest, returnNode } from './lease-writes.js';
import type { Leases } from './leases.js';
import { isGone, isOver } from './requested-leases.js';
import { servedNodes } from './served-nodes.js';
import { hasUnreadable } from './unreadable-leases.js';

/** How long the record of a lease that is over is kept, so that its owner can read how it ended. */
export const KEPT_MS = 3_600_000;
/** How many leases that are over are kept; the oldest ones go first. */
export const MOST_KEPT = 10_000;
/** How long other launchers leave a step to the keeper of its lease. */
const KEEPER_MS = 2_000;
const RETRY = { firstMs: 100, longestMs: 10_000 };

/** What is to be done about a lease, and since when. Its keeper does it at once, others after a while. */
interface DueStep {
  readonly sinceMs: number;
  /** Left to the sweep: a lease that is over needs no timer. */
  readonly isSwept?: boolean;
  readonly run: () => Promise<unknown>;
}

/**
 * Takes care of leases: gives the nodes of a fulfilled request to its lease, ends leases that are due, and returns their nodes.
 * Looks at one lease as a whole whenever something about it changes, so it does not matter which event was missed or which
 * launcher died in between. Each step is one transaction on the version that was looked at: of several launchers, one succeeds.
 */
export class LeaseKeeper implements Part {
  readonly #context: Context;
  readonly #leases: Leases;
  readonly #queue: WorkQueue<string>;
  /** When the record that calls for a step was first seen, by lease. */
  readonly #seen = new Map<string, { readonly zxid: bigint | undefined; readonly atMs: number }>();
  /** Leases that are over and still occupy numbers, by request. */
  readonly #endedByRequest = new Map<string, string>();
  /** Leases that are over, in the order in which they ended. */
  readonly #over = new Set<string>();
  /** Leases that are over, and are removed before their time. */
  readonly #early = new Set<string>();
  readonly #unsubscribe: readonly (() => void)[];

  constructor(context: Context, leases: Leases) {
    this.#context = context;
    this.#leases = leases;
    this.#queue = new WorkQueue(context, {
      decide: (id) => this.#decide(id),
      failed: (id, error) => this.#failed(id, error),
    });
    const { events } = context;
    this.#unsubscribe = [
      leases.onChange(({ id, before, after }) => this.#leaseChanged(id, before, after)),
      leases.onReady(() => this.reconsider()),
      events.on('requestChanged', ({ before, after }) => this.#requestChanged(before, after)),
      events.on('nodeChanged', ({ before, after }) => this.#nodeChanged(before, after)),
      events.on('requestLockChanged', ({ id, contenders }) => contenders === 0 && this.#considerEnded(id)),
    ];
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    void this.#queue.stop();
  }

  /** Looks at every lease. */
  reconsider(): void {
    for (const { id } of this.#leases.values()) this.#queue.add(id);
    for (const id of this.#surplus()) this.#removeEarly(id);
  }

  #decide(id: string): Step | undefined {
    const { life, clock } = this.#context;
    const lease = this.#leases.get(id);
    if (!lease || !life.isStarted || !life.isActive || !this.#leases.ready) return undefined;
    const step = this.#nextStep(lease);
    if (!step) return undefined;
    const { sinceMs, isSwept = false, run } = step;
    if (isSwept && this.#early.has(id)) return { run };
    const afterMs = sinceMs + (this.#leases.isKept(lease) ? 0 : KEEPER_MS) - clock.now();
    return afterMs > 0 && isSwept ? undefined : { run, afterMs };
  }

  #failed(id: string, error: unknown): typeof RETRY {
    const { life, logger } = this.#context;
    if (isRefusal(error) || isZooKeeperError(error) || life.signal.aborted) {
      logger.debug('A lease changed meanwhile; looking at it again', { lease: id, error });
    } else {
      logger.error('Could not take care of a lease', { lease: id, error });
    }
    return RETRY;
  }

  #nextStep(lease: LeaseRecord): DueStep | undefined {
    const leases = this.#leases;
    const request = leases.requestOf(lease.id);
    const end = leases.endOf(lease);
    const atEnd = end && { sinceMs: end.timeMs, run: () => leases.finish(lease, 'ended', end.why) };
    const sinceMs = this.#seenMs(lease.id, request ?? lease);
    if (lease.state === 'waiting') {
      if (this.#hasUnreadable(lease)) return atEnd;
      if (!request) return { sinceMs, run: () => this.#checkRequest(lease) };
      if (request.state === 'fulfilled') return { sinceMs, run: () => this.#activate(lease, request) };
      if (request.state === 'failed') return { sinceMs, run: () => leases.finish(lease, 'failed', whyFailed(request)) };
      return atEnd;
    }
    const nodes = leases.heldNodes(lease);
    if (lease.state === 'active') {
      const isHeld = nodes.length > 0 || this.#hasUnreadable(lease);
      return isHeld ? atEnd : { sinceMs, run: () => this.#checkNodes(lease) };
    }
    // it ended at a launcher that had not seen its request yet
    if (request) return { sinceMs, run: () => removeRequest(this.#context, leases.kept(lease), request) };
    if (nodes.length > 0) return { sinceMs, run: () => this.#returnAll(nodes) };
    if (lease.slots.length > 0)
      return isGone(this.#context, lease) ? { sinceMs, run: () => leases.freeSlots(lease.id) } : undefined;
    return { sinceMs: lease.stateTimeMs + KEPT_MS, isSwept: true, run: () => removeLease(this.#context, lease) };
  }

  #hasUnreadable(lease: LeaseRecord): boolean {
    return hasUnreadable(this.#context.mirror, this.#leases, lease);
  }

  /** When a record was first seen as it is. The server that stamped it may have another clock than the one that leads now. */
  #seenMs(id: string, { stat }: LeaseRecord | RequestRecord): number {
    const known = this.#seen.get(id);
    if (known && known.zxid === stat?.mzxid) return known.atMs;
    const atMs = this.#context.clock.now();
    this.#seen.set(id, { zxid: stat?.mzxid, atMs });
    return atMs;
  }

  async #activate(lease: LeaseRecord, request: RequestRecord): Promise<void> {
    const nodes = await servedNodes(this.#context, this.#leases, lease, request);
    if (nodes) await activate(this.#context, this.#leases.kept(lease), request, nodes);
  }

  /** Its request is not known: the mirror may be behind, or the request was cancelled. */
  async #checkRequest({ id }: LeaseRecord): Promise<void> {
    await this.#leases.settle();
    const lease = this.#leases.get(id);
    if (lease?.state !== 'waiting' || this.#leases.requestOf(id) || this.#hasUnreadable(lease)) return;
    await this.#leases.finish(lease, 'ended', 'its request was cancelled');
  }

  /** Its nodes are not on hold for it: the mirror may be behind, or they expired, failed or were deleted. */
  async #checkNodes({ id }: LeaseRecord): Promise<void> {
    await this.#leases.settle();
    const lease = this.#leases.get(id);
    if (lease?.state !== 'active' || this.#leases.heldNodes(lease).length > 0) return;
    if (this.#hasUnreadable(lease)) return;
    const end = this.#leases.endOf(lease);
    const isDue = end && end.timeMs <= this.#context.clock.now();
    const why = isDue ? end.why : 'its nodes are gone: they failed, or an operator deleted them';
    await this.#leases.finish(lease, 'ended', why);
  }

  /** @throws {Refusal} a node is locked, or was changed meanwhile: it is returned later */
  async #returnAll(nodes: readonly NodeRecord[]): Promise<void> {
    await Promise.all(nodes.map((node) => returnNode(this.#context, node)));
  }

  #requestChanged(before: RequestRecord | undefined, after: RequestRecord | undefined): void {
    const request = after ?? before;
    if (request?.requestor !== LEASE_REQUESTOR || before?.state === after?.state) return;
    this.#considerData(request.requestorData);
  }

  /** Looks at the lease that a node or request names. */
  #considerData(data: Parameters<typeof leaseOf>[0]): void {
    const lease = leaseOf(data);
    if (lease !== undefined) this.#queue.add(lease);
  }

  #nodeChanged(before: NodeRecord | undefined, after: NodeRecord | undefined): void {
    if (before && (before.state === 'hold' || !after)) this.#considerData(before.userData);
    const from = before?.allocatedTo ?? null;
    if (from !== null && from !== after?.allocatedTo) this.#considerEnded(from);
    // it may have been unreadable when its request was fulfilled
    const request = after?.allocatedTo ? this.#context.mirror.requests.get(after.allocatedTo) : undefined;
    if (request?.state === 'fulfilled') this.#considerData(request.requestorData);
  }

  #considerEnded(request: string): void {
    const lease = this.#endedByRequest.get(request);
    if (lease !== undefined) this.#queue.add(lease);
  }

  #leaseChanged(id: string, before: LeaseRecord | undefined, after: LeaseRecord | undefined): void {
    if (before?.requestId) this.#endedByRequest.delete(before.requestId);
    if (!after) {
      this.#forget(id);
      return;
    }
    if (after.requestId && after.slots.length > 0) this.#endedByRequest.set(after.requestId, id);
    this.#queue.add(id);
    if (!isOver(after)) return;
    this.#over.add(id);
    for (const each of this.#surplus()) {
      const lease = this.#leases.get(each);
      if (lease && this.#leases.isKept(lease)) this.#removeEarly(each);
    }
  }

  /** The leases that have been over for longest, as far as there are too many. */
  #surplus(): string[] {
    const surplus: string[] = [];
    const count = this.#over.size - MOST_KEPT;
    for (const id of this.#over) {
      if (surplus.length >= count) break;
      surplus.push(id);
    }
    return surplus;
  }

  /** Removes a lease that is over and has nothing left, before its time. */
  #removeEarly(id: string): void {
    const lease = this.#leases.get(id);
    if (!lease || !this.#nextStep(lease)?.isSwept) return;
    this.#over.delete(id);
    this.#early.add(id);
    this.#queue.add(id);
  }

  #forget(id: string): void {
    this.#queue.forget(id);
    this.#over.delete(id);
    this.#seen.delete(id);
    this.#early.delete(id);
  }
}

function whyFailed(request: RequestRecord): string {
  const { launchError, declinedBy } = request;
  const reasons = reasonsByPool(request);
  if (launchError !== null) reasons.push(launchError);
  if (reasons.length === 0) reasons.push(`declined by ${poolNames(declinedBy) || 'all pools'}`);
  return reasons.join('; ');
}
