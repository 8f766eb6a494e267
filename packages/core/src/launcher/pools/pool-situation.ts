import type {
  LauncherId,
  NodeRecord,
  PoolComponentRecord,
  RequestId,
  RequestRecord,
  Resources,
} from '@nodepool/zk-protocol';
import type { PoolConfig } from '../../contract/provider-config.js';
import type { Services } from '../mirror/services.js';
import type { FreeNodes } from '../mirror/free-nodes.js';
import type { PoolView, QuotaView, Reservation } from '../plan/types.js';
import type { PoolCandidates } from './pool-candidates.js';
import type { PoolRegistry } from './pool-registry.js';
import { sumResources } from '../../contract/resources.js';
import type { ProviderRunner } from '../providers/provider-runner.js';

/** What a pool worker learns from the launcher around it. */
export interface PoolWorkerHost {
  readonly version: string;
  /** Also register below `/nodepool/launchers`. */
  readonly announceLegacy: boolean;
  readonly registry: Pick<PoolRegistry, 'pools' | 'onChange'>;
  /** Pools that may serve requests, registered or about to be. */
  readonly candidates: Pick<PoolCandidates, 'pools' | 'isRefusedByAll' | 'seemsRefusedByAll'>;
  /** Labels with `min-ready: -1`. */
  disabledLabels(): ReadonlySet<string>;
  tenantLimit(tenant: string): Resources | undefined;
  /** Caches are complete and ZooKeeper answers. */
  isActive(): boolean;
  /** A pool of this process works on the request. */
  isOurs(request: RequestId): boolean;
  /** Deletes a free node if it still is one. */
  releaseNode(node: NodeRecord, why: string): void;
  /** The pool has ceased to wait for resources of its provider, which others may have now. */
  reservationsEnded(pool: PoolSituation): void;
  /** What a handler of this process has left behind is being removed: nobody may lock the request meanwhile. */
  isRecovering(request: RequestId): boolean;
  /** Gives up the lock of a fulfilled request in a moment. */
  unlockLater(entry: string): void;
  /** A handler lost track of what it wrote. @param epoch - of the session it wrote in */
  onAbandoned(request: RequestRecord, epoch: number): void;
}

const ONE_INSTANCE: Resources = Object.freeze({ instances: 1 });
const UNLIMITED: Resources = Object.freeze({});
/** A node in deletion counts as room to come for this long (source: Nodepool's rule for freeing nodes at quota). */
const DELETION_GRACE_MS = 300_000;

/** A pool as the plan sees it: its configuration, its provider, the mirror and the registry at this moment. */
export class PoolSituation implements PoolView {
  readonly launcherId: LauncherId;
  protected readonly services: Services;
  protected readonly host: PoolWorkerHost;
  protected runner: ProviderRunner;
  protected poolConfig: PoolConfig;
  /** Accepted requests that wait for capacity. */
  protected pausedHandlers = 0;
  readonly #free: FreeNodes;
  #stopping = false;

  constructor(
    services: Services,
    host: PoolWorkerHost,
    runner: ProviderRunner,
    pool: PoolConfig,
    launcherId: LauncherId,
  ) {
    this.services = services;
    this.host = host;
    this.runner = runner;
    this.poolConfig = pool;
    this.launcherId = launcherId;
    this.#free = services.mirror.free(runner.name, pool.name);
  }

  /** No new requests are taken from now on. */
  protected beginStopping(): void {
    this.#stopping = true;
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  get provider(): string {
    return this.runner.name;
  }

  get providerName(): string {
    return this.runner.name;
  }

  get pool(): PoolConfig {
    return this.poolConfig;
  }

  get priority(): number {
    return this.poolConfig.priority ?? this.runner.config.priority ?? 100;
  }

  get launches(): boolean {
    return this.runner.launches;
  }

  get pausesAtQuota(): boolean {
    return this.runner.pausesAtQuota;
  }

  get maxConcurrency(): number {
    return this.runner.config.maxConcurrency;
  }

  get activeLaunches(): number {
    return this.runner.activeLaunches;
  }

  get errorLabels(): ReadonlySet<string> {
    return this.runner.provider.errorLabels();
  }

  get disabledLabels(): ReadonlySet<string> {
    return this.host.disabledLabels();
  }

  get registered(): readonly PoolComponentRecord[] {
    return this.host.candidates.pools;
  }

  get paused(): boolean {
    return this.pausedHandlers > 0;
  }

  /** Others need not leave requests to this pool: it waits for room, or accepts nothing at all. */
  get yieldsPrecedence(): boolean {
    return this.paused || this.maxConcurrency === 0;
  }

  labelReady(label: string): boolean {
    return this.runner.provider.labelReady(this.poolConfig.name, label);
  }

  freeNodes(label: string): Iterable<NodeRecord> {
    return this.#free.ofLabel(label);
  }

  labelCapacity(label: string): number | undefined {
    return this.runner.provider.labelCapacity?.(this.poolConfig.name, label);
  }

  presentNodes(label: string): number {
    return this.services.mirror.presentCount(this.provider, this.pool.name, label);
  }

  canHold(labels: readonly string[]): boolean {
    return this.runner.provider.canHold?.(this.poolConfig.name, labels) ?? true;
  }

  idleNodes(): Iterable<NodeRecord> {
    return this.#free.all();
  }

  idleElsewhere(): NodeRecord[] {
    const { mirror, clock } = this.services;
    const others = mirror.poolsOf(this.provider).filter((pool) => pool !== this.poolConfig.name);
    if (others.some((pool) => mirror.isDeletingSince(this.provider, pool, clock.now(), DELETION_GRACE_MS))) return [];
    const idle = others.flatMap((pool) => firstOf(mirror.free(this.provider, pool).all()));
    return idle.sort((a, b) => a.stateTimeMs - b.stateTimeMs);
  }

  get roomIsComing(): boolean {
    const { mirror, clock } = this.services;
    return mirror.isDeletingSince(this.provider, this.poolConfig.name, clock.now(), DELETION_GRACE_MS);
  }

  get foreignReservations(): readonly Reservation[] {
    const sisters = this.runner.reservationsBesides(this.poolConfig.name);
    return this.launches ? [...sisters, ...this.#reservationsElsewhere()] : sisters;
  }

  /** Limits are the driver's where it knows any; use is what the records show, whatever the driver. */
  get quota(): QuotaView {
    const { quota } = this.runner.provider;
    return {
      need: (label) => this.needOf(label),
      providerTotal: quota ? quota.estimatedNodepoolQuota() : UNLIMITED,
      providerUsed: this.runner.usedByProvider(),
      poolUsed: this.runner.usedByPool(this.poolConfig.name),
    };
  }

  tenantLimit(tenant: string): Resources | undefined {
    return this.host.tenantLimit(tenant);
  }

  tenantUsed(tenant: string): Resources {
    return this.services.mirror.usage.ofTenant(tenant);
  }

  /**
   * Counts what a request will get for its tenant from the moment it is accepted.
   * @returns to be called when the work on it has ended
   */
  protected promiseToTenant(request: RequestRecord): () => void {
    const nodes = request.labels.map((label) => ({ label, need: this.needOf(label) }));
    return this.services.mirror.usage.promise(request, nodes);
  }

  /** What requests lack that another launcher has begun to serve from this provider. */
  *#reservationsElsewhere(): Generator<Reservation> {
    const { mirror } = this.services;
    for (const id of mirror.pendingRequests()) {
      const held = mirror.allocatedTo(id);
      const request = mirror.requests.get(id);
      if (!request || held.size === 0 || held.size >= request.labels.length || this.host.isOurs(id)) continue;
      const missing = [...request.labels];
      let isHere = false;
      let isInPool = false;
      for (const nodeId of held) {
        const { provider, pool, labels: [label = ''] = [] } = mirror.nodes.get(nodeId) ?? {};
        isHere ||= provider === this.provider;
        isInPool ||= provider === this.provider && pool === this.poolConfig.name;
        const index = missing.indexOf(label);
        if (index >= 0) missing.splice(index, 1);
      }
      if (isHere) yield { request, need: this.#needOfAll(missing), isInPool };
    }
  }

  #needOfAll(labels: readonly string[]): Resources {
    return sumResources(labels.map((label) => (this.poolConfig.labels.has(label) ? this.needOf(label) : ONE_INSTANCE)));
  }

  /** What one node of a label needs. */
  needOf(label: string): Resources {
    return this.runner.needOf(label, this.poolConfig);
  }
}

/** At most one, without a look at the rest. */
function firstOf<T>(items: Iterable<T>): T[] {
  for (const item of items) return [item];
  return [];
}
