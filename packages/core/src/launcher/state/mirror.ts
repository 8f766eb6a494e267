import { isFree } from '@nodepool/zk-protocol';
import type {
  LockAware,
  NodeId,
  NodeRecord,
  RecordCache,
  RecordChange,
  RequestId,
  RequestRecord,
} from '@nodepool/zk-protocol';
import { FreeNodes } from './free-nodes.js';
import { poolKey } from './pool-key.js';

/** What the mirror tells whoever decides. Called after its indexes hold the new state. */
export interface MirrorListener {
  /** A ready node can now be taken, or can no longer. */
  onFree?(node: NodeRecord, free: boolean): void;
  /** A node record appeared, changed, or went. */
  onNode?(change: RecordChange<NodeRecord>): void;
  /** A node was locked or unlocked. */
  onLock?(id: NodeId, contenders: number): void;
  onRequest?(change: RecordChange<RequestRecord>): void;
  /** A request was locked or unlocked. */
  onRequestLock?(id: RequestId, contenders: number): void;
}

/** Whoever has claimed a node: told apart by identity. */
export type Claimant = object;

/**
 * Nodes and requests with the indexes that decisions need, kept by watch events. Nothing here lists, scans or waits.
 *
 * A node is *free* when it is `ready`, unallocated, unlocked, and no work of this process has claimed it.
 */
export class Mirror {
  readonly nodes: RecordCache<NodeRecord> & LockAware;
  readonly requests: RecordCache<RequestRecord> & LockAware;
  readonly #free = new Map<string, FreeNodes>();
  readonly #claimed = new Map<NodeId, Claimant>();
  readonly #byRequest = new Map<string, Set<NodeId>>();
  readonly #pending = new Set<RequestId>();
  /** Ready nodes that are promised to no request, by label; includes those locked or claimed at the moment. */
  readonly #standby = new Map<string, number>();
  /** Nodes that are or will be of use again, by pool and label. */
  readonly #present = new Map<string, Map<string, number>>();
  /** When each node that is being deleted began to be, by pool. */
  readonly #deleting = new Map<string, Map<NodeId, number>>();
  readonly #listeners = new Set<MirrorListener>();
  readonly #unsubscribe: (() => void)[];

  constructor(nodes: RecordCache<NodeRecord> & LockAware, requests: RecordCache<RequestRecord> & LockAware) {
    this.nodes = nodes;
    this.requests = requests;
    this.#unsubscribe = [
      nodes.onChange((change) => this.#nodeChanged(change)),
      nodes.onLockChange((id, contenders) => this.#lockChanged(id as NodeId, contenders)),
      requests.onChange((change) => this.#requestChanged(change)),
      requests.onLockChange((id, contenders) => this.#requestLockChanged(id as RequestId, contenders)),
    ];
  }

  close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#listeners.clear();
  }

  listen(listener: MirrorListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Free nodes of a pool. The object stays the same for the life of the mirror. */
  free(provider: string, pool: string): FreeNodes {
    const key = poolKey(provider, pool);
    let free = this.#free.get(key);
    if (!free) this.#free.set(key, (free = new FreeNodes()));
    return free;
  }

  /** Names of pools of the provider that have or had free nodes, configured or not. */
  poolsOf(provider: string): string[] {
    const prefix = poolKey(provider, '');
    return [...this.#free.keys()].filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
  }

  /** Nodes whose `allocated_to` names the request. */
  allocatedTo(request: string): ReadonlySet<NodeId> {
    return this.#byRequest.get(request) ?? EMPTY;
  }

  /** Requests that name allocated nodes, living or not. */
  allocationTargets(): Iterable<string> {
    return this.#byRequest.keys();
  }

  /** Requests in state `pending`, whoever handles them. */
  pendingRequests(): ReadonlySet<RequestId> {
    return this.#pending;
  }

  /** How many ready nodes of the label, in any pool, are not allocated. */
  standbyCount(label: string): number {
    return this.#standby.get(label) ?? 0;
  }

  /** How many nodes of the label the pool has, free or in use; those on hold are out of reach. */
  presentCount(provider: string, pool: string, label: string): number {
    return this.#present.get(poolKey(provider, pool))?.get(label) ?? 0;
  }

  /** True while a node of the pool has been in deletion for less than `maxAgeMs`. */
  isDeletingSince(provider: string, pool: string, nowMs: number, maxAgeMs: number): boolean {
    for (const sinceMs of this.#deleting.get(poolKey(provider, pool))?.values() ?? []) {
      if (nowMs - sinceMs < maxAgeMs) return true;
    }
    return false;
  }

  /** Keeps a free node for the work on a request until {@link unclaim}; false when it is not free any more. */
  claim(id: NodeId, by: Claimant): boolean {
    const node = this.nodes.get(id);
    if (!node || !this.#isFree(node)) return false;
    this.#claimed.set(id, by);
    this.#refreshFree(node);
    return true;
  }

  /** Gives a claim back; the claim of another claimant stays. */
  unclaim(id: NodeId, by: Claimant): void {
    if (this.#claimed.get(id) !== by) return;
    this.#claimed.delete(id);
    const node = this.nodes.get(id);
    if (node) this.#refreshFree(node);
  }

  #isFree(node: NodeRecord): boolean {
    return isFree(node) && !this.#claimed.has(node.id) && this.nodes.contenders(node.id) === 0;
  }

  #nodeChanged(change: RecordChange<NodeRecord>): void {
    const { before, after } = change;
    if (before?.allocatedTo !== after?.allocatedTo) {
      if (before?.allocatedTo) this.#unallocate(before.allocatedTo, before.id);
      if (after?.allocatedTo) this.#allocate(after.allocatedTo, after.id);
    }
    this.#countStandby(before, -1);
    this.#countStandby(after, 1);
    this.#countPresent(before, -1);
    this.#countPresent(after, 1);
    this.#trackDeleting(before, after);
    const moved = before && (!after || before.provider !== after.provider || before.pool !== after.pool);
    if (moved) this.#dropFree(before);
    if (after) this.#refreshFree(after);
    for (const listener of this.#listeners) listener.onNode?.(change);
  }

  #lockChanged(id: NodeId, contenders: number): void {
    const node = this.nodes.get(id);
    if (node) this.#refreshFree(node);
    for (const listener of this.#listeners) listener.onLock?.(id, contenders);
  }

  #requestChanged(change: RecordChange<RequestRecord>): void {
    const id = change.id as RequestId;
    if (change.after?.state === 'pending') this.#pending.add(id);
    else this.#pending.delete(id);
    for (const listener of this.#listeners) listener.onRequest?.(change);
  }

  #requestLockChanged(id: RequestId, contenders: number): void {
    for (const listener of this.#listeners) listener.onRequestLock?.(id, contenders);
  }

  #refreshFree(node: NodeRecord): void {
    if (node.provider === null || node.pool === null) return;
    const free = this.free(node.provider, node.pool);
    if (!this.#isFree(node)) {
      this.#dropFree(node);
      return;
    }
    if (!free.put(node)) return;
    for (const listener of this.#listeners) listener.onFree?.(node, true);
  }

  #dropFree(node: NodeRecord): void {
    if (node.provider === null || node.pool === null) return;
    if (!this.free(node.provider, node.pool).delete(node.id)) return;
    for (const listener of this.#listeners) listener.onFree?.(node, false);
  }

  #countStandby(node: NodeRecord | undefined, step: 1 | -1): void {
    if (!node || !isFree(node)) return;
    for (const label of node.labels) this.#standby.set(label, (this.#standby.get(label) ?? 0) + step);
  }

  #countPresent(node: NodeRecord | undefined, step: 1 | -1): void {
    if (!node || node.state === 'hold' || node.provider === null || node.pool === null) return;
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

  #allocate(request: string, id: NodeId): void {
    let nodes = this.#byRequest.get(request);
    if (!nodes) this.#byRequest.set(request, (nodes = new Set()));
    nodes.add(id);
  }

  #unallocate(request: string, id: NodeId): void {
    const nodes = this.#byRequest.get(request);
    nodes?.delete(id);
    if (nodes?.size === 0) this.#byRequest.delete(request);
  }
}

const EMPTY: ReadonlySet<NodeId> = new Set();

/** The nodes allocated to a request. */
export function nodesAllocatedTo(mirror: Pick<Mirror, 'allocatedTo' | 'nodes'>, request: string): NodeRecord[] {
  return [...mirror.allocatedTo(request)].map((id) => mirror.nodes.get(id)).filter((node) => node !== undefined);
}
