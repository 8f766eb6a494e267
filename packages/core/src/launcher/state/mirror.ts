import { isFree, isLent, isIdle, isStartable, isParked } from '@nodepool/zk-protocol';
import type {
  LockAware,
  NodeId,
  NodeRecord,
  RecordCache,
  RecordChange,
  RequestId,
  RequestRecord,
} from '@nodepool/zk-protocol';
import type { LauncherEvents } from './events.js';
import { FreeNodes } from './free-nodes.js';
import { poolKey } from './pool-key.js';

/** The pools of this launcher, which lend nodes. */
export interface NodeTakers {
  /** A ready or stopped node has become free: any request may get it. */
  nodeFree(node: NodeRecord): void;
}

/** The work that has claimed a node, compared by identity. */
export type Claimant = object;

/**
 * Nodes and requests with the indexes that decisions need, updated by watch events. Nothing here lists, scans or waits.
 *
 * A node is *free* if it is `ready` or can be started, unallocated, unlocked, and not claimed by work of this process.
 */
export class Mirror {
  readonly nodes: RecordCache<NodeRecord> & LockAware;
  readonly requests: RecordCache<RequestRecord> & LockAware;
  readonly #events: LauncherEvents;
  #takers: NodeTakers | undefined;
  readonly #free = new Map<string, FreeNodes>();
  readonly #claimed = new Map<NodeId, Claimant>();
  readonly #byRequest = new Map<string, Set<NodeId>>();
  readonly #byProvider = new Map<string, Set<NodeId>>();
  readonly #pending = new Set<RequestId>();
  /** Nodes that stand by, by label, including those locked or claimed at the moment. */
  readonly #idle = new Map<string, number>();
  /** Those of them that are parked. */
  readonly #parked = new Map<string, number>();
  /** Nodes except those that a person holds, by pool and label: lent ones return as those in use do. */
  readonly #present = new Map<string, Map<string, number>>();
  /** When the deletion of each node in deletion began, by pool. */
  readonly #deleting = new Map<string, Map<NodeId, number>>();
  readonly #unsubscribe: (() => void)[];

  constructor(
    nodes: RecordCache<NodeRecord> & LockAware,
    requests: RecordCache<RequestRecord> & LockAware,
    events: LauncherEvents,
  ) {
    this.nodes = nodes;
    this.requests = requests;
    this.#events = events;
    this.#unsubscribe = [
      nodes.onChange((change) => this.#nodeChanged(change)),
      nodes.onLockChange((id, contenders) => this.#lockChanged(id as NodeId, contenders)),
      requests.onChange((change) => this.#requestChanged(change)),
      requests.onLockChange((id, contenders) => events.emit('requestLockChanged', { id: id as RequestId, contenders })),
    ];
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  /** From now on, these pools take nodes. */
  handTo(takers: NodeTakers): void {
    this.#takers = takers;
  }

  /** Free nodes of a pool. The object stays the same for the life of the mirror. */
  free(provider: string, pool: string): FreeNodes {
    const key = poolKey(provider, pool);
    let free = this.#free.get(key);
    if (!free) this.#free.set(key, (free = new FreeNodes()));
    return free;
  }

  /** Names of the provider's pools that have or had free nodes, configured or not. */
  poolsOf(provider: string): string[] {
    const prefix = poolKey(provider, '');
    return [...this.#free.keys()].filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
  }

  /** Nodes whose `allocated_to` names the request. */
  allocatedTo(request: string): ReadonlySet<NodeId> {
    return this.#byRequest.get(request) ?? EMPTY;
  }

  /** Node records of a provider. */
  *ofProvider(provider: string): Generator<NodeRecord> {
    for (const id of this.#byProvider.get(provider) ?? EMPTY) {
      const node = this.nodes.get(id);
      if (node) yield node;
    }
  }

  /** Number of node records of a provider. */
  countOfProvider(provider: string): number {
    return this.#byProvider.get(provider)?.size ?? 0;
  }

  /** Requests in state `pending`, of all launchers. */
  pendingRequests(): ReadonlySet<RequestId> {
    return this.#pending;
  }

  /** Number of nodes of the label that stand by, in all pools. */
  idleCount(label: string): number {
    return this.#idle.get(label) ?? 0;
  }

  /** Number of those of {@link idleCount} that are parked. */
  parkedCount(label: string): number {
    return this.#parked.get(label) ?? 0;
  }

  /** Number of nodes of the label in the pool, free, in use or lent over HTTP, without those that a person holds. */
  presentCount(provider: string, pool: string, label: string): number {
    return this.#present.get(poolKey(provider, pool))?.get(label) ?? 0;
  }

  /** Whether a node of the pool has been in deletion for less than `maxAgeMs`. */
  isDeletingSince(provider: string, pool: string, nowMs: number, maxAgeMs: number): boolean {
    for (const sinceMs of this.#deleting.get(poolKey(provider, pool))?.values() ?? []) {
      if (nowMs - sinceMs < maxAgeMs) return true;
    }
    return false;
  }

  /** Reserves a free node for the work on a request until {@link unclaim}. @returns false if the node is not free any more */
  claim(id: NodeId, by: Claimant): boolean {
    const node = this.nodes.get(id);
    if (!node || !this.#isFree(node)) return false;
    this.#claimed.set(id, by);
    this.#refreshFree(node);
    return true;
  }

  /** Gives up a claim; has no effect on the claim of another claimant. */
  unclaim(id: NodeId, by: Claimant): void {
    if (this.#claimed.get(id) !== by) return;
    this.#claimed.delete(id);
    const node = this.nodes.get(id);
    if (node) this.#refreshFree(node);
  }

  #isFree(node: NodeRecord): boolean {
    return (isFree(node) || isStartable(node)) && !this.#claimed.has(node.id) && this.nodes.contenders(node.id) === 0;
  }

  #nodeChanged(change: RecordChange<NodeRecord>): void {
    const { before, after } = change;
    reindex(this.#byRequest, change, before?.allocatedTo, after?.allocatedTo);
    reindex(this.#byProvider, change, before?.provider, after?.provider);
    this.#countIdle(before, -1);
    this.#countIdle(after, 1);
    this.#countPresent(before, -1);
    this.#countPresent(after, 1);
    this.#trackDeleting(before, after);
    const moved = before && (!after || before.provider !== after.provider || before.pool !== after.pool);
    if (moved) this.#dropFree(before);
    if (after) this.#refreshFree(after);
    this.#events.emit('nodeChanged', change);
  }

  #lockChanged(id: NodeId, contenders: number): void {
    const node = this.nodes.get(id);
    if (node) this.#refreshFree(node);
    this.#events.emit('nodeLockChanged', { id, contenders });
  }

  #requestChanged(change: RecordChange<RequestRecord>): void {
    const id = change.id as RequestId;
    if (change.after?.state === 'pending') this.#pending.add(id);
    else this.#pending.delete(id);
    this.#events.emit('requestChanged', change);
  }

  #refreshFree(node: NodeRecord): void {
    if (node.provider === null || node.pool === null) return;
    const free = this.free(node.provider, node.pool);
    if (!this.#isFree(node)) free.delete(node.id);
    else if (free.put(node)) this.#takers?.nodeFree(node);
  }

  #dropFree(node: NodeRecord): void {
    if (node.provider !== null && node.pool !== null) this.free(node.provider, node.pool).delete(node.id);
  }

  #countIdle(node: NodeRecord | undefined, step: 1 | -1): void {
    if (!node || !isIdle(node)) return;
    for (const counts of isParked(node) ? [this.#idle, this.#parked] : [this.#idle]) {
      for (const label of node.labels) counts.set(label, (counts.get(label) ?? 0) + step);
    }
  }

  #countPresent(node: NodeRecord | undefined, step: 1 | -1): void {
    if (!node || node.provider === null || node.pool === null) return;
    if (node.state === 'hold' && !isLent(node)) return;
    const key = poolKey(node.provider, node.pool);
    let counts = this.#present.get(key);
    if (!counts) this.#present.set(key, (counts = new Map<string, number>()));
    for (const label of node.labels) counts.set(label, (counts.get(label) ?? 0) + step);
  }

  #trackDeleting(before: NodeRecord | undefined, after: NodeRecord | undefined): void {
    const was = before?.state === 'deleting';
    const is = after?.state === 'deleting';
    if (was && !is) this.#deleting.get(poolKey(before.provider ?? '', before.pool ?? ''))?.delete(before.id);
    if (!is) return;
    const key = poolKey(after.provider ?? '', after.pool ?? '');
    let nodes = this.#deleting.get(key);
    if (!nodes) this.#deleting.set(key, (nodes = new Map<NodeId, number>()));
    nodes.set(after.id, after.stateTimeMs);
  }
}

const EMPTY: ReadonlySet<NodeId> = new Set();

/** Moves a node from one key of an index to another; `null` and `undefined` are no keys. */
function reindex(
  index: Map<string, Set<NodeId>>,
  { id }: RecordChange<NodeRecord>,
  before: string | null | undefined,
  after: string | null | undefined,
): void {
  if (before === after) return;
  if (before) {
    const nodes = index.get(before);
    nodes?.delete(id as NodeId);
    if (nodes?.size === 0) index.delete(before);
  }
  if (!after) return;
  const nodes = index.get(after);
  if (nodes) nodes.add(id as NodeId);
  else index.set(after, new Set([id as NodeId]));
}

/** The nodes allocated to a request. */
export function nodesAllocatedTo(mirror: Pick<Mirror, 'allocatedTo' | 'nodes'>, request: string): NodeRecord[] {
  return [...mirror.allocatedTo(request)].map((id) => mirror.nodes.get(id)).filter((node) => node !== undefined);
}
