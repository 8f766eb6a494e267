import type {
  ControlRecord,
  ControlSubject,
  LauncherId,
  NodeRecord,
  PoolComponentRecord,
  RequestId,
  RequestRecord,
  Resources,
} from '@nodepool/zk-protocol';
import type { Config } from '../../contract/config.js';
import type { PoolConfig } from '../../contract/provider-config.js';
import type { Context } from '../state/context.js';
import type { LabelPlace } from '../ledger/totals.js';
import type { Ledger } from '../ledger/ledger.js';
import type { PoolRegistry } from '../registry/pool-registry.js';
import type { SteeringSet } from '../health/steering-set.js';
import { PoolDemand } from './pool-demand.js';
import { RequestDrivers } from './request-drivers.js';
import { blocksOthers, waitsElsewhere } from './waits-elsewhere.js';
import type { FreeNodes } from '../state/free-nodes.js';
import { findCandidates } from '../plan/candidates.js';
import { isPoolPaused } from '../plan/controls.js';
import type { PlannedRequest, PoolView, QuotaView, Reservation } from '../plan/types.js';
import { firstPoolFor } from '../health/first-pool.js';
import type { ProviderSteering } from '../health/provider-steering.js';
import { sumResources } from '../../contract/resources.js';
import type { ProviderRunner } from '../providers/provider-runner.js';

/** Which pool is seen, and through what. */
export interface PoolViewOptions {
  readonly runner: ProviderRunner;
  readonly pool: PoolConfig;
  readonly launcherId: LauncherId;
  readonly registry: Pick<PoolRegistry, 'candidates' | 'shared'>;
  /** Missing: no provider is steered around. */
  readonly steering?: SteeringSet | undefined;
  readonly ledger: Ledger;
}

const ONE_INSTANCE: Resources = Object.freeze({ instances: 1 });
const UNLIMITED: Resources = Object.freeze({});
/** A node in deletion counts as capacity to come for this long (source: Nodepool's rule for freeing nodes at quota). */
const DELETION_GRACE_MS = 300_000;

/** A pool as the plan sees it: its configuration, its provider, the mirror and the registry at this moment. */
export class LivePoolView implements PoolView {
  readonly launcherId: LauncherId;
  readonly demand: PoolDemand;
  /** The driver's side of requests that the pool has not accepted. */
  readonly drivers: RequestDrivers;
  readonly #context: Context;
  readonly #options: PoolViewOptions;
  readonly #free: FreeNodes;
  #runner: ProviderRunner;
  #pool: PoolConfig;
  #stopping = false;
  /** The registry shows the pool: it may accept requests. */
  isRegistered = false;

  constructor(context: Context, options: PoolViewOptions) {
    const { runner, pool, launcherId } = options;
    this.#context = context;
    this.#options = options;
    this.#runner = runner;
    this.#pool = pool;
    this.launcherId = launcherId;
    this.demand = new PoolDemand(context.clock);
    this.drivers = new RequestDrivers(runner.provider, pool);
    this.#free = context.mirror.free(runner.name, pool.name);
  }

  /** Shows a changed configuration from now on. */
  use(runner: ProviderRunner, pool: PoolConfig): void {
    this.#runner = runner;
    this.#pool = pool;
    this.drivers.use(runner.provider, pool);
  }

  /** No new requests are taken from now on. */
  beginStopping(): void {
    this.#stopping = true;
  }

  /** The provider in force. */
  get runner(): ProviderRunner {
    return this.#runner;
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  get provider(): string {
    return this.#runner.name;
  }

  get pool(): PoolConfig {
    return this.#pool;
  }

  get priority(): number {
    return this.#pool.priority ?? this.#runner.config.priority ?? 100;
  }

  get launches(): boolean {
    return this.#runner.launches;
  }

  get pausesAtQuota(): boolean {
    return this.#runner.pausesAtQuota;
  }

  get maxConcurrency(): number {
    return this.#runner.config.maxConcurrency;
  }

  get activeLaunches(): number {
    return this.#options.ledger.activeLaunches(this.provider);
  }

  get launchLimit(): number {
    return this.#runner.rampsLaunches ? (this.steering?.launchLimit ?? Infinity) : Infinity;
  }

  get errorLabels(): ReadonlySet<string> {
    return this.#runner.provider.errorLabels();
  }

  get controls(): readonly ControlRecord[] {
    return this.#context.controls.inForce;
  }

  countOrdered({ kind, name }: ControlSubject): number {
    const { ledger } = this.#options;
    if (kind === 'label') return ledger.countNodes(({ label }) => label === name);
    const { providers } = this.#context.config.now;
    return ledger.countNodes((place) => usesImage(providers, place, name));
  }

  get disabledLabels(): ReadonlySet<string> {
    return this.#context.config.disabledLabels;
  }

  get registered(): readonly PoolComponentRecord[] {
    return this.#options.registry.candidates;
  }

  get paused(): boolean {
    return this.demand.pausedCount > 0;
  }

  /** Others need not leave requests to this pool: it waits for capacity, or accepts nothing at all. */
  get yieldsPrecedence(): boolean {
    const isClosed = this.maxConcurrency === 0 || isPoolPaused(this);
    return this.paused || isClosed || this.steering?.isWell === false;
  }

  get steering(): ProviderSteering | undefined {
    return this.#options.steering?.of(this.provider);
  }

  isPausing(id: RequestId): boolean {
    return this.demand.first.isPausing(id);
  }

  /** Ready nodes win: a pool that has them does not leave the request to one without. */
  leftTo(request: PlannedRequest): PoolComponentRecord | undefined {
    const { steering } = this;
    if (steering?.isWell !== true || !this.isPausing(request.id)) return undefined;
    const equals = this.#equals(request);
    const others = steering.isSlow ? equals.filter(({ providerName }) => providerName !== this.provider) : [];
    const first = firstPoolFor(request.id, others.length > 0 ? others : equals);
    if (!first || first.launcherId === this.launcherId) return undefined;
    const { labels } = request;
    const ofFirst = this.#context.mirror.free(first.providerName, first.name);
    return hasAll(this.#free, labels) && !hasAll(ofFirst, labels) ? undefined : first;
  }

  /** Pools that may be the first of the request, as far as priority and its preferred provider let them. */
  #equals(request: PlannedRequest): PoolComponentRecord[] {
    const isPreferred = request.provider === this.provider;
    return findCandidates(request, this).filter(
      (pool) =>
        pool.priority === this.priority &&
        !pool.paused &&
        Boolean(pool.firstPoolPauseMs) &&
        (!isPreferred || pool.providerName === this.provider),
    );
  }

  labelReady(label: string): boolean {
    return this.#runner.provider.labelReady(this.#pool.name, label);
  }

  freeNodes(label: string): Iterable<NodeRecord> {
    const nodes = this.#free.ofLabel(label, (other) => this.demand.waiting.countOf(other));
    return this.#options.registry.shared.ownFirst(nodes, this.provider, this.pool.name);
  }

  labelCapacity(label: string): number | undefined {
    return this.#runner.provider.labelCapacity?.(this.#pool.name, label);
  }

  presentNodes(label: string): number {
    return this.#context.mirror.presentCount(this.provider, this.pool.name, label);
  }

  canHold(labels: readonly string[]): boolean {
    return this.#runner.provider.canHold?.(this.#pool.name, labels) ?? true;
  }

  acceptsNode(request: RequestRecord, node: NodeRecord): boolean {
    const atWork = this.demand.atWork.get(request.id);
    return atWork ? atWork.acceptsNode(node) : (this.drivers.of(request).acceptsNode?.(node) ?? true);
  }

  idleNodes(): Iterable<NodeRecord> {
    return this.#free.all();
  }

  idleElsewhere(): NodeRecord[] {
    const { mirror, clock } = this.#context;
    const others = mirror.poolsOf(this.provider).filter((pool) => pool !== this.#pool.name);
    if (others.some((pool) => mirror.isDeletingSince(this.provider, pool, clock.now(), DELETION_GRACE_MS))) return [];
    const idle = others.flatMap((pool) => firstOf(mirror.free(this.provider, pool).all()));
    return idle.sort((a, b) => a.stateTimeMs - b.stateTimeMs);
  }

  get capacityIsComing(): boolean {
    const { mirror, clock } = this.#context;
    return mirror.isDeletingSince(this.provider, this.#pool.name, clock.now(), DELETION_GRACE_MS);
  }

  /** A request that waits here as well keeps its own capacity. */
  get waitingElsewhere(): readonly Reservation[] {
    const heads = this.#options.ledger.reservations.headsBesides(this.provider, this.#pool.name);
    return heads.filter(({ request }) => !this.demand.has(request.id));
  }

  get foreignReservations(): readonly Reservation[] {
    const others = this.#options.ledger.reservations.besides(this.provider, this.#pool.name);
    return this.launches ? [...others, ...this.#reservationsElsewhere()] : others;
  }

  /** What accepted requests of this pool wait for. */
  get ownReservations(): readonly Reservation[] {
    return this.#options.ledger.reservations.of(this.provider, this.#pool.name);
  }

  /** Limits are the driver's where it knows any; use is what the records show, whatever the driver. */
  get quota(): QuotaView {
    const { quota } = this.#runner.provider;
    const { ledger } = this.#options;
    return {
      need: (label) => this.needOf(label),
      providerTotal: quota ? quota.estimatedNodepoolQuota() : UNLIMITED,
      providerUsed: ledger.usedByProvider(this.#runner),
      poolUsed: ledger.usedByPool(this.#runner, this.#pool.name),
    };
  }

  tenantLimit(tenant: string): Resources | undefined {
    return this.#context.config.now.tenantLimits.get(tenant);
  }

  tenantUsed(tenant: string): Resources {
    return this.#options.ledger.usedByTenant(tenant);
  }

  /** Whether a request with a better place may be waiting for what this one holds. */
  blocksOthers(request: RequestRecord): boolean {
    return blocksOthers(this.#context.mirror, request, [...this.demand.paused(), ...this.foreignReservations]);
  }

  *#reservationsElsewhere(): Generator<Reservation> {
    const { ledger } = this.#options;
    for (const wait of waitsElsewhere(this.#context.mirror, ledger, this.provider, this.#pool.name)) {
      yield { request: wait.request, need: this.#needOfAll(wait.missing), isInPool: wait.isInPool };
    }
  }

  #needOfAll(labels: readonly string[]): Resources {
    return sumResources(labels.map((label) => (this.#pool.labels.has(label) ? this.needOf(label) : ONE_INSTANCE)));
  }

  /** What one node of a label needs. */
  needOf(label: string): Resources {
    return this.#runner.needOf(label, this.#pool);
  }
}

/** Whether nodes there are made from the image; of a pool that is not configured here, by what other pools do for the label. */
function usesImage(providers: Config['providers'], { provider, pool, label }: LabelPlace, image: string): boolean {
  const own = providers.get(provider)?.pools.get(pool);
  if (own) return own.labels.get(label)?.diskimage === image;
  return [...providers.values()].some(({ pools }) =>
    [...pools.values()].some(({ labels }) => labels.get(label)?.diskimage === image),
  );
}

/** There is a free node for each of the labels, as far as one look tells. */
function hasAll(free: FreeNodes, labels: readonly string[]): boolean {
  return labels.every((label) => free.count(label) > 0);
}

/** At most one, without a look at the rest. */
function firstOf<T>(items: Iterable<T>): T[] {
  for (const item of items) return [item];
  return [];
}
