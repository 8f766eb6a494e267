import {
  LEASE_REQUESTOR,
  leaseOf,
  leaseSlotPath,
  newLease,
  NodepoolError,
  type LeaseCache,
  type LeaseRecord,
  type LeaseTokenCache,
  type NewLease,
  type NodeRecord,
  type RecordChange,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import type { Context } from '../state/context.js';
import { isRefusal } from '../state/transaction.js';
import { createLease, endLease, isHeldFor, renewLease, type LeaseOwner } from './lease-writes.js';

/** How often a change is tried when others change the lease at the same time. */
const ATTEMPTS = 5;

/** A lease to request. */
export type LeaseSpec = Omit<NewLease, 'slots' | 'keeper'> & {
  /** Most nodes that the token may have at a time; `null`: no limit. */
  readonly maxNodes: number | null;
  /** Version of the token's record; `undefined`: the token is not stored in ZooKeeper. */
  readonly tokenVersion: number | undefined;
};

/** The token would have more nodes than it may. */
export class LeaseLimitError extends NodepoolError {
  constructor(token: string, maxNodes: number) {
    super('NODEPOOL_LEASE_LIMIT', `Token "${token}" may have ${maxNodes} nodes at a time, those it waits for included`);
  }
}

/** The leases of all launchers, and what lessees do with them. See {@link LeaseKeeper} for what happens to them. */
export class Leases {
  /** Tokens for leases by name, including expired ones. */
  readonly tokens: LeaseTokenCache;
  readonly #context: Context;
  readonly #cache: LeaseCache;
  readonly #keeper: string;
  /** Request of each waiting lease. */
  readonly #requests = new Map<string, RequestId>();
  /** Lease for which each slot is being created, by path: leases requested at the same time must not try for the same slot. */
  readonly #reserved = new Map<string, string>();
  readonly #unsubscribe: () => void;

  /** @param keeper - id of this launcher, which marks the leases that it takes care of at once */
  constructor(context: Context, cache: LeaseCache, tokens: LeaseTokenCache, keeper: string) {
    this.#context = context;
    this.#cache = cache;
    this.tokens = tokens;
    this.#keeper = keeper;
    this.#unsubscribe = context.events.on('requestChanged', ({ before, after }) => this.#requestChanged(before, after));
  }

  close(): void {
    this.#unsubscribe();
  }

  get(id: string): LeaseRecord | undefined {
    return this.#cache.get(id);
  }

  /** All leases, also those that were over within the last hour. */
  values(): Iterable<LeaseRecord> {
    return this.#cache.values();
  }

  /** Whether all leases have been read. */
  get ready(): boolean {
    return this.#cache.ready;
  }

  /** Resolves when leases, requests and nodes show every write that was made before the call. */
  async settle(): Promise<void> {
    const { nodes, requests } = this.#context.mirror;
    await Promise.all([this.#cache.settle(), nodes.settle(), requests.settle()]);
  }

  /** Calls the listener when a lease was requested, changed, or removed. @returns unsubscribes */
  onChange(listener: (change: RecordChange<LeaseRecord>) => void): () => void {
    return this.#cache.onChange(listener);
  }

  /** Calls the listener when all leases have been read, again after a reconnect. @returns unsubscribes */
  onReady(listener: () => void): () => void {
    return this.#cache.onReady((ready) => ready && listener());
  }

  /** The request of a waiting lease; `undefined` when it has none. */
  requestOf(id: string): RequestRecord | undefined {
    const request = this.#requests.get(id);
    return request === undefined ? undefined : this.#context.mirror.requests.get(request);
  }

  /** The nodes that are on hold for the lease. */
  heldNodes(lease: LeaseRecord): NodeRecord[] {
    const { nodes } = this.#context.mirror;
    return lease.nodeIds.map((id) => nodes.get(id)).filter((node) => isHeldFor(node, lease.id));
  }

  /** Whether this launcher takes care of the lease at once. */
  isKept(lease: LeaseRecord): boolean {
    return lease.keeper === this.#keeper;
  }

  /** The same lease, taken care of by this launcher from the next write on. */
  kept(lease: LeaseRecord): LeaseRecord {
    return { ...lease, keeper: this.#keeper };
  }

  /**
   * Requests a lease. With the id of an existing lease, returns that one.
   * @throws {LeaseLimitError} the token would have too many nodes
   * @throws {Refusal} the token has changed or was revoked
   * @throws {ZooKeeperError} it is not known whether the lease was requested: repeat it with the same id
   */
  async request(spec: LeaseSpec): Promise<LeaseRecord> {
    const { maxNodes, tokenVersion, ...fields } = spec;
    const occupied = new Set<number>();
    for (;;) {
      const existing = this.#cache.get(spec.id);
      if (existing) return existing;
      const slots = maxNodes === null ? [] : this.#freeSlots(spec, maxNodes, occupied);
      const paths = slots.map((slot) => leaseSlotPath(spec.token, slot));
      for (const path of paths) this.#reserved.set(path, spec.id);
      const lease = this.kept(newLease({ ...fields, slots, keeper: '' }, this.#context.clock.now()));
      try {
        await createLease(this.#context, lease, tokenVersion);
        return this.#cache.get(lease.id) ?? lease;
      } catch (error) {
        if (!isRefusal<LeaseOwner>(error) || error.kind !== 'directory-exists') throw error;
        if (error.owner === 'lease') await this.#cache.settle();
        for (const slot of slots) if (error.operation.path === leaseSlotPath(spec.token, slot)) occupied.add(slot);
      } finally {
        for (const path of paths) this.#reserved.delete(path);
      }
    }
  }

  /**
   * Renews a lease: it waits, or is active, for this long from now.
   * @throws {Refusal} it changes all the time
   */
  renew(id: string, ttlMs: number): Promise<LeaseRecord | undefined> {
    return this.#change(id, (lease) => renewLease(this.#context, this.kept(lease), ttlMs, this.heldNodes(lease)));
  }

  /** Ends a lease; its nodes are returned soon afterwards. @throws {Refusal} it changes all the time */
  end(id: string, why: string): Promise<LeaseRecord | undefined> {
    return this.#change(id, (lease) => this.finish(lease, 'ended', why));
  }

  /** Ends this version of a lease. @throws {Refusal} it has changed */
  async finish(lease: LeaseRecord, state: 'ended' | 'failed', endReason: string): Promise<LeaseRecord> {
    const ended = await endLease(this.#context, this.kept(lease), { state, endReason }, this.requestOf(lease.id));
    this.#context.logger.info('Lease is over', { lease: lease.id, owner: lease.owner, state, reason: endReason });
    return ended;
  }

  /** Changes a lease that is not over, again if it was changed meanwhile. @returns the lease; `undefined`: there is none */
  async #change(id: string, change: (lease: LeaseRecord) => Promise<LeaseRecord>): Promise<LeaseRecord | undefined> {
    for (let attempt = 1; ; attempt++) {
      const lease = this.#cache.get(id);
      if (!lease || lease.state === 'ended' || lease.state === 'failed') return lease;
      try {
        return await change(lease);
      } catch (error) {
        if (!isRefusal(error) || attempt === ATTEMPTS) throw error;
        await this.settle();
      }
    }
  }

  /** Numbers for the nodes of a new lease, of those that its token has not used up. */
  #freeSlots({ id, token, labels }: LeaseSpec, maxNodes: number, occupied: ReadonlySet<number>): number[] {
    const used = new Set(occupied);
    for (const lease of this.#cache.values()) if (lease.token === token) for (const slot of lease.slots) used.add(slot);
    const free: number[] = [];
    const isFree = (slot: number) => !used.has(slot) && (this.#reserved.get(leaseSlotPath(token, slot)) ?? id) === id;
    for (let slot = 0; slot < maxNodes && free.length < labels.length; slot++) if (isFree(slot)) free.push(slot);
    if (free.length < labels.length) throw new LeaseLimitError(token, maxNodes);
    return free;
  }

  #requestChanged(before: RequestRecord | undefined, after: RequestRecord | undefined): void {
    const request = after ?? before;
    const lease = request?.requestor === LEASE_REQUESTOR ? leaseOf(request.requestorData) : undefined;
    if (request === undefined || lease === undefined) return;
    if (after) this.#requests.set(lease, after.id);
    else if (this.#requests.get(lease) === request.id) this.#requests.delete(lease);
  }
}
