import {
  LEASE_REQUESTOR,
  leaseOf,
  ZooKeeperError,
  type LeaseCache,
  type LeaseRecord,
  type LeaseTokenCache,
  type NodeId,
  type NodeRecord,
  type RecordChange,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import type { Context } from '../../launcher/state/context.js';
import { isRefusal } from '../../launcher/state/transaction.js';
import { LeaseReading, type LeaseKnowledge } from './lease-knowledge.js';
import { endOfLease, type LeaseEnd } from './lease-end.js';
import { endLease, isHeldFor, renewLease, type LeaseOwner } from './lease-writes.js';
import { LeaseUnreadableError, type LeaseSpec } from './lease-spec.js';
import { allNodes, lostMachines, type MachineSource } from './lost-machines.js';
import { checkAge, isOver, RequestedLeases } from './requested-leases.js';

/** How often a change is tried when others change the lease at the same time. */
const ATTEMPTS = 5;

/** A lease and what belongs to it now. */
export interface LeaseView {
  readonly lease: LeaseRecord;
  /** Those that an active lease holds. */
  readonly nodes: readonly NodeRecord[];
  /** Of a waiting lease. */
  readonly request: RequestRecord | undefined;
  /** When it will end; `undefined`: it waits without a limit, or is over. */
  readonly endMs: number | undefined;
  /** Why machines of its nodes cannot be used any more, by node. Optional; omit if all can be. */
  readonly lostMachines?: ReadonlyMap<NodeId, string> | undefined;
}

/** The leases of all launchers, and what lessees do with them. See {@link LeaseKeeper} for what happens to them. */
export class Leases {
  /** Tokens for leases by name, including expired ones. */
  readonly tokens: LeaseTokenCache;
  readonly #context: Context;
  readonly #cache: LeaseCache;
  readonly #keeper: string;
  readonly #machines: MachineSource;
  /** Last known request of each lease. */
  readonly #requests = new Map<string, RequestId>();
  readonly #requested: RequestedLeases;
  readonly #reading: LeaseReading;
  readonly #unsubscribe: readonly (() => void)[];

  /** @param keeper - id of this launcher, which marks the leases that it takes care of at once */
  constructor(context: Context, cache: LeaseCache, tokens: LeaseTokenCache, keeper: string, machines: MachineSource) {
    this.#context = context;
    this.#machines = machines;
    this.#cache = cache;
    this.tokens = tokens;
    this.#keeper = keeper;
    this.#requested = new RequestedLeases(context, cache, keeper, (id) => this.requestOf(id) !== undefined);
    const { nodes, requests } = context.mirror;
    this.#reading = new LeaseReading(context, [cache, tokens, nodes, requests]);
    this.#unsubscribe = [
      cache.onChange((change) => {
        this.#requested.changed(change);
        // a record that cannot be read is still there
        if (!change.after && !this.requestOf(change.id)) this.#requests.delete(change.id);
      }),
      context.events.on('requestChanged', ({ before, after }) => this.#requestChanged(before, after)),
    ];
  }

  stop(): void {
    this.#reading.stop();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  get(id: string): LeaseRecord | undefined {
    return this.#cache.get(id);
  }

  /** All leases, also those that were over recently. */
  values(): Iterable<LeaseRecord> {
    return this.#cache.values();
  }

  /** Whether all leases have been read. */
  get ready(): boolean {
    return this.#cache.ready;
  }

  /** Whether what this launcher shows of leases is true. */
  get knowledge(): LeaseKnowledge {
    return this.#reading.knowledge;
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

  /**
   * One lease as every write before the call has left it, if this launcher is connected: it may learn of a lease, or of its state,
   * a moment after the launcher that wrote it has answered.
   * @returns `undefined` if there is none
   * @throws {LeaseUnreadableError} its record cannot be read, or not any more
   * @throws {ZooKeeperError} also if its {@link knowledge} is not current, or the lease is not known and ZooKeeper does not answer
   */
  async look(id: string): Promise<LeaseView | undefined> {
    await this.refresh();
    // another launcher may have written it just before the connection broke
    if (!this.#cache.get(id) && !this.#isConnected) throw cutOff();
    if (this.knowledge === 'current' && this.#cache.unreadable.some((record) => record.id === id))
      throw new LeaseUnreadableError(id);
    return this.see(id);
  }

  /** Learns of all leases that were written before the call, if this launcher is connected. @throws {ZooKeeperError} */
  async refresh(): Promise<void> {
    if (this.#isConnected) await this.#cache.settle();
  }

  /**
   * The same as this launcher knows it, without asking ZooKeeper unless nodes are missing: of a record that cannot be read any
   * more, what was read last.
   */
  async see(id: string): Promise<LeaseView | undefined> {
    if (this.knowledge !== 'current') throw cutOff();
    let settled: LeaseRecord | undefined;
    for (;;) {
      const lease = this.#cache.get(id);
      if (!lease) return undefined;
      const nodes = lease.state === 'active' ? this.heldNodes(lease) : [];
      const hasAll = lease.state !== 'active' || nodes.length === lease.nodeIds.length;
      // nodes that are missing although all that was written with this version is known were lost since
      if (hasAll || settled === lease)
        return {
          ...{ lease, nodes, request: this.requestOf(id), endMs: this.endOf(lease)?.timeMs },
          lostMachines: lostMachines(nodes, this.#machines),
        };
      await this.settle();
      settled = lease;
    }
  }

  /** The request of a waiting lease; `undefined` when it has none. */
  requestOf(id: string): RequestRecord | undefined {
    const request = this.#requests.get(id);
    return request === undefined ? undefined : this.#context.mirror.requests.get(request);
  }

  /** The nodes that are on hold for the lease. */
  heldNodes(lease: LeaseRecord): NodeRecord[] {
    const { nodes } = this.#context.mirror;
    return lease.nodeIds.flatMap((id) => nodes.get(id) ?? []).filter((node) => isHeldFor(node, lease.id));
  }

  /** The time by which leases end: that of the ZooKeeper server. */
  now(): number {
    return this.#context.clock.now();
  }

  /** Whether this launcher takes care of the lease at once. */
  isKept(lease: LeaseRecord): boolean {
    return lease.keeper === this.#keeper;
  }

  /** The same lease, taken care of by this launcher from the next write on. */
  kept(lease: LeaseRecord): LeaseRecord {
    return { ...lease, keeper: this.#keeper };
  }

  /** When a lease will end, and why it ends then; `undefined`: it waits without a limit, or is over. */
  endOf(lease: LeaseRecord): LeaseEnd | undefined {
    return endOfLease(lease, this.#context.config.now.maxHoldAgeMs);
  }

  /**
   * Requests a lease. With the id of an existing lease, returns that one.
   * @throws {LeaseLimitError} the token would have too many nodes
   * @throws {LeaseAgeError} it would last longer than `max-hold-age`
   * @throws {LeaseUnreadableError} the id is that of a lease whose record cannot be read, or that has just been removed
   * @throws {Refusal} the token has changed or was revoked
   * @throws {ZooKeeperError} it is not known whether the lease was requested: repeat it with the same id
   */
  request(spec: LeaseSpec): Promise<LeaseRecord> {
    return this.#requested.request(spec);
  }

  /** Frees the numbers of a lease that is over, if nothing is left of it. @throws {Refusal} it was changed meanwhile */
  freeSlots(id: string): Promise<void> {
    return this.#requested.freeSlots(id);
  }

  /**
   * Renews a lease: it waits, or is active, for this long from now.
   * @throws {LeaseAgeError} it would last longer than `max-hold-age`
   * @throws {LeaseNodesLostError} it does not hold all of its nodes any more, or the machine of one is gone
   * @throws {Refusal} it changes all the time
   */
  async renew(id: string, ttlMs: number): Promise<LeaseRecord | undefined> {
    await this.look(id);
    return this.change(id, (lease) => {
      if (isOver(lease)) return undefined;
      checkAge(this.#context, lease.state === 'active' ? this.#context.clock.now() - lease.stateTimeMs : 0, ttlMs);
      return renewLease(this.#context, this.kept(lease), ttlMs, allNodes(lease, this.heldNodes(lease), this.#machines));
    });
  }

  /** Ends a lease; its nodes are returned soon afterwards. @throws {Refusal} it changes all the time */
  async end(id: string, why: string): Promise<LeaseRecord | undefined> {
    await this.look(id);
    return this.change(id, (lease) => (isOver(lease) ? undefined : this.finish(lease, 'ended', why)));
  }

  /** Ends this version of a lease. @throws {Refusal} it has changed */
  async finish(lease: LeaseRecord, state: 'ended' | 'failed', endReason: string): Promise<LeaseRecord> {
    const held = lease.state === 'active' ? this.heldNodes(lease) : [];
    const requestId = this.#requests.get(lease.id) ?? null;
    const end = (nodes: readonly NodeRecord[]) =>
      endLease(
        this.#context,
        { ...this.kept(lease), requestId },
        { state, endReason },
        this.requestOf(lease.id),
        nodes,
      );
    const ended = await end(held).catch((error: unknown) => {
      if (isRefusal<LeaseOwner>(error) && error.owner === 'node') return end([]); // locked: returned when it is unlocked
      throw error;
    });
    this.#context.logger.info('Lease is over', { lease: lease.id, owner: lease.owner, state, reason: endReason });
    return ended;
  }

  /**
   * Changes a lease, again if it was changed meanwhile.
   * @param write - writes the change of this version; `undefined`: there is nothing to change
   * @returns the lease; `undefined`: there is none
   * @throws {Refusal} it changes all the time
   */
  async change(
    id: string,
    write: (lease: LeaseRecord) => Promise<LeaseRecord> | undefined,
  ): Promise<LeaseRecord | undefined> {
    for (let attempt = 1; ; attempt++) {
      const lease = this.#cache.get(id);
      const written = lease && write(lease);
      if (!written) return lease;
      try {
        return await written;
      } catch (error) {
        if (!isRefusal(error) || attempt === ATTEMPTS) throw error;
        await this.settle();
      }
    }
  }

  get #isConnected(): boolean {
    const { zk, life } = this.#context;
    return zk.state === 'CONNECTED' && !life.signal.aborted;
  }

  #requestChanged(before: RequestRecord | undefined, after: RequestRecord | undefined): void {
    const request = after ?? before;
    const lease = request?.requestor === LEASE_REQUESTOR ? leaseOf(request.requestorData) : undefined;
    if (request === undefined || lease === undefined) return;
    if (after) this.#requests.set(lease, after.id);
    else if (!this.#cache.get(lease)) this.#requests.delete(lease);
  }
}

const cutOff = () => new ZooKeeperError('ZK_CONNECTION_LOSS', 'this launcher is cut off, or reads its records');
