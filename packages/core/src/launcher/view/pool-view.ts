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
import type { NodeRequestHandler } from '../../contract/driver.js';
import type { PoolConfig } from '../../contract/provider-config.js';
import type { Context } from '../state/context.js';
import type { LabelPlace } from '../ledger/totals.js';
import type { Ledger } from '../ledger/ledger.js';
import type { PoolRegistry } from '../registry/pool-registry.js';
import { PoolDemand, type RequestAtWork } from './pool-demand.js';
import { blocksOthers, reservationsElsewhere } from './waits-elsewhere.js';
import type { FreeNodes } from '../state/free-nodes.js';
import { findCandidates } from '../plan/candidates.js';
import { isPoolPaused } from '../plan/controls.js';
import type { PlannedRequest, PoolView, QuotaView, Reservation } from '../plan/types.js';
import { firstPoolFor } from '../plan/first-pool.js';
import type { Steering, SteeringView } from '../plan/steering.js';
import type { ProviderRunner } from '../providers/provider-runner.js';

/** The pool to show, and the objects that know its state. */
export interface PoolViewOptions {
  readonly runner: ProviderRunner;
  readonly pool: PoolConfig;
  readonly launcherId: LauncherId;
  readonly registry: Pick<PoolRegistry, 'candidates' | 'registered'>;
  /** Optional; omit to switch steering off. */
  readonly steering?: Steering | undefined;
  readonly ledger: Ledger;
}

const UNLIMITED: Resources = Object.freeze({});
/** How long a node in deletion counts as capacity to come (source: Nodepool's rule for freeing nodes at quota). */
const DELETION_GRACE_MS = 300_000;

/** A pool as the plan sees it: its configuration, its provider, the mirror and the registry at this moment. */
export class LivePoolView<Work extends RequestAtWork = RequestAtWork> implements PoolView {
  readonly launcherId: LauncherId;
  readonly provider: string;
  readonly demand: PoolDemand<Work>;
  readonly disabledLabels: Pick<ReadonlySet<string>, 'has'>;
  readonly #context: Context;
  readonly #options: PoolViewOptions;
  readonly #free: FreeNodes;
  #runner: ProviderRunner;
  #pool: PoolConfig;
  #stopping = false;
  /** Whether the registry shows the pool, so that it may accept requests. */
  isRegistered = false;

  constructor(context: Context, options: PoolViewOptions) {
    const { runner, pool, launcherId } = options;
    this.#context = context;
    this.#options = options;
    this.#runner = runner;
    this.#pool = pool;
    this.launcherId = launcherId;
    this.provider = runner.name;
    this.demand = new PoolDemand(context.clock);
    this.disabledLabels = { has: (label) => context.config.now.labels.get(label)?.minReady === -1 };
    this.#free = context.mirror.free(runner.name, pool.name);
  }

  /** Applies a changed configuration. */
  use(runner: ProviderRunner, pool: PoolConfig): void {
    this.#runner = runner;
    this.#pool = pool;
  }

  /** The pool takes no new requests from now on. */
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

  get registered(): readonly PoolComponentRecord[] {
    return this.#options.registry.candidates;
  }

  get paused(): boolean {
    return this.demand.pausedCount > 0;
  }

  /** Whether other pools need not leave requests to this one: it waits for capacity, fails, or accepts nothing. */
  get yieldsPrecedence(): boolean {
    const isClosed = this.maxConcurrency === 0 || isPoolPaused(this);
    return this.paused || isClosed || this.steering?.isWell === false;
  }

  get steering(): SteeringView | undefined {
    return this.#options.steering?.of(this.provider);
  }

  isPausing(id: RequestId): boolean {
    return this.demand.first.isPausing(id);
  }

  /** A pool with ready nodes for the request does not leave it to one without. */
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

  /** Pools that may be the first one of the request, by priority and the request's preferred provider. */
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
    return readyFirst(this.#options.registry.registered.ownFirst(nodes, this.provider, this.pool.name));
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
    return atWork ? atWork.acceptsNode(node) : (this.handlerOf(request).acceptsNode?.(node) ?? true);
  }

  /** The driver's handler of a request that the pool has not accepted. */
  handlerOf(request: RequestRecord): NodeRequestHandler {
    return this.#runner.handlerOf(request, this.#pool);
  }

  /** The same, for a request that is accepted: from now on the handler belongs to the work on it. */
  takeHandler(request: RequestRecord): NodeRequestHandler {
    return this.#runner.takeHandler(request, this.#pool);
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

  /** Without requests that wait here as well: their capacity is reserved here. */
  get waitingElsewhere(): readonly Reservation[] {
    const heads = this.#options.ledger.headsBesides(this.provider, this.#pool.name);
    return heads.filter(({ request }) => !this.demand.has(request.id));
  }

  get foreignReservations(): readonly Reservation[] {
    const others = this.#options.ledger.reservationsBesides(this.provider, this.#pool.name);
    return this.launches
      ? [...others, ...reservationsElsewhere(this.#context.mirror, this.#options.ledger, this.#runner, this.#pool)]
      : others;
  }

  /** Reservations for accepted requests of this pool that wait for capacity. */
  get ownReservations(): readonly Reservation[] {
    return this.#options.ledger.reservationsOf(this.provider, this.#pool.name);
  }

  /** The driver's limits, if it has any, and the use that records show. */
  get quota(): QuotaView {
    const { provider } = this.#runner;
    const { quota } = provider;
    const { ledger } = this.#options;
    return {
      need: (label) => this.needOf(label),
      providerTotal: quota ? quota.estimatedNodepoolQuota() : UNLIMITED,
      get usedByOthers() {
        return quota?.unmanagedQuotaUsed?.();
      },
      providerUsed: ledger.usedByProvider(this.#runner),
      poolUsed: ledger.usedByPool(this.#runner, this.#pool.name),
      refusal: this.#runner.quotaRefusal,
      get loginRefused() {
        return provider.conditions?.().find(({ type }) => type === 'LoginRefused');
      },
    };
  }

  tenantLimit(tenant: string): Resources | undefined {
    return this.#context.config.now.tenantLimits.get(tenant);
  }

  tenantUsed(tenant: string): Resources {
    return this.#options.ledger.usedByTenant(tenant);
  }

  /** Whether a request ahead of this one may be waiting for the capacity that it holds. */
  blocksOthers(request: RequestRecord): boolean {
    return blocksOthers(this.#context.mirror, request, [...this.demand.paused(), ...this.foreignReservations]);
  }

  /** Resources of one node of a label. */
  needOf(label: string): Resources {
    return this.#runner.needOf(label, this.#pool);
  }
}

/** Whether a label's nodes in a pool are made from the image; judged by the other pools if the pool is not configured here. */
function usesImage(providers: Config['providers'], { provider, pool, label }: LabelPlace, image: string): boolean {
  const own = providers.get(provider)?.pools.get(pool);
  if (own) return own.labels.get(label)?.diskimage === image;
  return [...providers.values()].some(({ pools }) =>
    [...pools.values()].some(({ labels }) => labels.get(label)?.diskimage === image),
  );
}

/** Whether there is a free node for each label, ignoring that one node may be counted for several of them. */
function hasAll(free: FreeNodes, labels: readonly string[]): boolean {
  return labels.every((label) => free.count(label) > 0);
}

/** A node that has yet to be started is the second choice. */
function* readyFirst(nodes: Iterable<NodeRecord>): Generator<NodeRecord> {
  const stopped: NodeRecord[] = [];
  for (const node of nodes) {
    if (node.state === 'ready') yield node;
    else stopped.push(node);
  }
  yield* stopped;
}

/** The first item, if any. */
function firstOf<T>(items: Iterable<T>): T[] {
  for (const item of items) return [item];
  return [];
}
