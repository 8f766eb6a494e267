import {
  leaseOf,
  leaseSlotPath,
  newLease,
  type LeaseCache,
  type LeaseRecord,
  type NodeId,
  type RecordChange,
  type UnreadableRecord,
} from '@nodepool/zk-protocol';
import type { Context } from '../../launcher/state/context.js';
import { isRefusal } from '../../launcher/state/transaction.js';
import { createLease, freeSlots, type LeaseOwner } from './lease-writes.js';
import { LeaseAgeError, LeaseLimitError, LeaseUnreadableError, type LeaseSpec } from './lease-spec.js';
import { TokenSlots } from './token-slots.js';

/** Whether a lease is neither waiting nor active any more. */
export const isOver = ({ state }: LeaseRecord): boolean => state === 'ended' || state === 'failed';

/** Whether the nodes of a lease that is over are gone, and no launcher makes any for it. */
export function isGone({ mirror }: Pick<Context, 'mirror'>, { id, nodeIds, requestId }: LeaseRecord): boolean {
  const { nodes, requests } = mirror;
  if (nodeIds.some((node) => leaseOf(nodes.get(node)?.userData ?? null) === id)) return false;
  // a node that is being made for it may have a record that cannot be read as well
  const isOf = ({ id: node, legible }: UnreadableRecord) =>
    nodeIds.includes(node as NodeId) || (requestId !== null && legible['allocated_to'] === requestId);
  if (nodes.unreadable.some(isOf)) return false;
  if (requestId === null) return true;
  // who works on the request has locked it, and may be about to make records of nodes
  return requests.contenders(requestId) === 0 && mirror.allocatedTo(requestId).size === 0;
}

/** @param usedMs - how long the lease has been active. @throws {LeaseAgeError} */
export function checkAge({ config }: Pick<Context, 'config'>, usedMs: number, ttlMs: number): void {
  const { maxHoldAgeMs } = config.now;
  if (maxHoldAgeMs > 0 && usedMs + ttlMs > maxHoldAgeMs) throw new LeaseAgeError(maxHoldAgeMs, maxHoldAgeMs - usedMs);
}

/** Requests leases, each with numbers among the nodes that its token may have, and frees the numbers when nothing is left of it. */
export class RequestedLeases {
  readonly #context: Context;
  readonly #cache: LeaseCache;
  readonly #keeper: string;
  readonly #slots: TokenSlots;
  readonly #hasRequest: (id: string) => boolean;
  /** Leases that are being requested: a repetition is the same one. */
  readonly #requesting = new Map<string, Promise<LeaseRecord>>();

  constructor(context: Context, cache: LeaseCache, keeper: string, hasRequest: (id: string) => boolean) {
    this.#context = context;
    this.#hasRequest = hasRequest;
    this.#cache = cache;
    this.#keeper = keeper;
    this.#slots = new TokenSlots(context);
  }

  /** A lease was requested, changed, or removed. */
  changed(change: RecordChange<LeaseRecord>): void {
    this.#slots.changed(change);
  }

  /** See `Leases.request`. */
  request(spec: LeaseSpec): Promise<LeaseRecord> {
    const { id } = spec;
    const same = this.#requesting.get(id);
    if (same) return same;
    const lease = this.#request(spec).finally(() => this.#requesting.delete(id));
    this.#requesting.set(id, lease);
    return lease;
  }

  async #request({ maxNodes, tokenVersion, giveUpMs, ...fields }: LeaseSpec): Promise<LeaseRecord> {
    const { id, token, ttlMs } = fields;
    const occupied = new Set<number>();
    let isSettled = false;
    for (;;) {
      const existing = this.#cache.get(id);
      if (existing) return existing;
      checkAge(this.#context, 0, ttlMs);
      const slots = maxNodes === null ? [] : this.#slots.take(fields, maxNodes, occupied);
      if (!slots) {
        if (isSettled) throw this.#limitError(fields, maxNodes ?? 0, occupied);
        isSettled = true;
        occupied.clear();
        await this.#freeUnused(token);
        continue;
      }
      const nowMs = this.#context.clock.now();
      const dueTimeMs = giveUpMs === null ? null : nowMs + giveUpMs;
      const lease = newLease({ ...fields, dueTimeMs, slots, keeper: this.#keeper }, nowMs);
      try {
        await createLease(this.#context, lease, tokenVersion);
        return this.#cache.get(id) ?? lease;
      } catch (error) {
        this.#slots.release(token, id, slots);
        if (!isRefusal<LeaseOwner>(error) || error.kind !== 'directory-exists') throw error;
        if (error.owner === 'lease') {
          await this.#cache.settle();
          if (!this.#cache.get(id)) throw new LeaseUnreadableError(id);
        }
        for (const slot of slots) if (error.operation.path === leaseSlotPath(token, slot)) occupied.add(slot);
      }
    }
  }

  #limitError(
    wanted: Pick<LeaseSpec, 'token' | 'labels'>,
    maxNodes: number,
    occupied: ReadonlySet<number>,
  ): LeaseLimitError {
    const isOverLease = (id: string) => {
      const lease = this.#cache.get(id);
      return lease !== undefined && isOver(lease);
    };
    return new LeaseLimitError(
      wanted.token,
      maxNodes,
      this.#slots.hasRoomSoon(wanted, maxNodes, occupied, isOverLease),
    );
  }

  /** A lease may just have ended, perhaps at another launcher. */
  async #freeUnused(token: string): Promise<void> {
    await this.#cache.settle();
    const frees = this.#slots.leasesOf(token).map((id) => this.freeSlots(id));
    await Promise.all(frees).catch((error: unknown) => {
      if (!isRefusal(error)) throw error;
    });
    await this.#cache.settle();
  }

  /** See `Leases.freeSlots`. */
  async freeSlots(id: string): Promise<void> {
    const known = this.#cache.get(id);
    if (!known || !isOver(known)) return;
    const { nodes, requests } = this.#context.mirror;
    await Promise.all([this.#cache.settle(), nodes.settle(), requests.settle()]);
    const lease = this.#cache.get(id);
    // who ended it may not have known of its request, for which nodes may still be made
    if (!lease || lease.slots.length === 0 || this.#hasRequest(id) || !isGone(this.#context, lease)) return;
    await freeSlots(this.#context, { ...lease, keeper: this.#keeper });
  }
}
