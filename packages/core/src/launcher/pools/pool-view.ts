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
import type { Services } from '../mirror/services.js';
import type { LabelPlace } from '../mirror/label-use.js';
import type { FreeNodes } from '../mirror/free-nodes.js';
import { findCandidates } from '../plan/candidates.js';
import { isPoolPaused } from '../plan/controls.js';
import type { PlannedRequest, PoolView, QuotaView, Reservation } from '../plan/types.js';
import { firstPoolFor } from '../steering/first-pool.js';
import type { ProviderSteering } from '../steering/provider-steering.js';
import type { PoolViewPort } from './pool-port.js';
import { sumResources } from '../../contract/resources.js';
import type { ProviderRunner } from '../providers/provider-runner.js';

/** What the view asks about the requests of its pool. */
export interface PoolRequests {
  /** Accepted requests that wait for capacity. */
  pausedCount(): number;
  /** How many waiting requests ask for the label. */
  waitingFor(label: string): number;
  /** The request waits in this pool, or the pool works on it. */
  has(id: RequestId): boolean;
  /** The request is still to be left to its first pool. */
  isPausing(id: RequestId): boolean;
  /** Whether the driver would have a free node serve the request. */
  acceptsNode(request: RequestRecord, node: NodeRecord): boolean;
}

/** Which pool is seen, and through what. */
export interface LivePoolViewOptions {
  readonly services: Services;
  readonly port: PoolViewPort;
  readonly runner: ProviderRunner;
  readonly pool: PoolConfig;
  readonly launcherId: LauncherId;
  readonly requests: PoolRequests;
}

const NO_CONTROLS: readonly ControlRecord[] = [];
const ONE_INSTANCE: Resources = Object.freeze({ instances: 1 });
const UNLIMITED: Resources = Object.freeze({});
/** A node in deletion counts as capacity to come for this long (source: Nodepool's rule for freeing nodes at quota). */
const DELETION_GRACE_MS = 300_000;

/** A pool as the plan sees it: its configuration, its provider, the mirror and the registry at this moment. */
export class LivePoolView implements PoolView {
  readonly launcherId: LauncherId;
  readonly #services: Services;
  readonly #port: PoolViewPort;
  readonly #requests: PoolRequests;
  readonly #free: FreeNodes;
  #runner: ProviderRunner;
  #pool: PoolConfig;
  #stopping = false;

  constructor({ services, port, runner, pool, launcherId, requests }: LivePoolViewOptions) {
    this.#services = services;
    this.#port = port;
    this.#requests = requests;
    this.#runner = runner;
    this.#pool = pool;
    this.launcherId = launcherId;
    this.#free = services.mirror.free(runner.name, pool.name);
  }

  /** Shows a changed configuration from now on. */
  use(runner: ProviderRunner, pool: PoolConfig): void {
    this.#runner = runner;
    this.#pool = pool;
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
    return this.#runner.activeLaunches;
  }

  get launchLimit(): number {
    return this.#runner.rampsLaunches ? (this.steering?.launchLimit ?? Infinity) : Infinity;
  }

  get errorLabels(): ReadonlySet<string> {
    return this.#runner.provider.errorLabels();
  }

  get controls(): readonly ControlRecord[] {
    return this.#services.controls?.inForce ?? NO_CONTROLS;
  }

  countOrdered({ kind, name }: ControlSubject): number {
    const { labelUse } = this.#services.mirror;
    if (kind === 'label') return labelUse.countNodes(({ label }) => label === name);
    const { providers } = this.#port.config();
    return labelUse.countNodes((place) => usesImage(providers, place, name));
  }

  get disabledLabels(): ReadonlySet<string> {
    return this.#port.disabledLabels();
  }

  get registered(): readonly PoolComponentRecord[] {
    return this.#port.candidates.pools;
  }

  get paused(): boolean {
    return this.#requests.pausedCount() > 0;
  }

  /** Others need not leave requests to this pool: it waits for capacity, or accepts nothing at all. */
  get yieldsPrecedence(): boolean {
    const isClosed = this.maxConcurrency === 0 || isPoolPaused(this);
    return this.paused || isClosed || this.steering?.isWell === false;
  }

  get steering(): ProviderSteering | undefined {
    return this.#port.steering(this.provider);
  }

  isPausing(id: RequestId): boolean {
    return this.#requests.isPausing(id);
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
    const ofFirst = this.#services.mirror.free(first.providerName, first.name);
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
    const nodes = this.#free.ofLabel(label, (other) => this.#requests.waitingFor(other));
    return this.#port.shared?.ownFirst(nodes, this.provider, this.pool.name) ?? nodes;
  }

  labelCapacity(label: string): number | undefined {
    return this.#runner.provider.labelCapacity?.(this.#pool.name, label);
  }

  presentNodes(label: string): number {
    return this.#services.mirror.presentCount(this.provider, this.pool.name, label);
  }

  canHold(labels: readonly string[]): boolean {
    return this.#runner.provider.canHold?.(this.#pool.name, labels) ?? true;
  }

  acceptsNode(request: RequestRecord, node: NodeRecord): boolean {
    return this.#requests.acceptsNode(request, node);
  }

  idleNodes(): Iterable<NodeRecord> {
    return this.#free.all();
  }

  idleElsewhere(): NodeRecord[] {
    const { mirror, clock } = this.#services;
    const others = mirror.poolsOf(this.provider).filter((pool) => pool !== this.#pool.name);
    if (others.some((pool) => mirror.isDeletingSince(this.provider, pool, clock.now(), DELETION_GRACE_MS))) return [];
    const idle = others.flatMap((pool) => firstOf(mirror.free(this.provider, pool).all()));
    return idle.sort((a, b) => a.stateTimeMs - b.stateTimeMs);
  }

  get capacityIsComing(): boolean {
    const { mirror, clock } = this.#services;
    return mirror.isDeletingSince(this.provider, this.#pool.name, clock.now(), DELETION_GRACE_MS);
  }

  /** A request that waits here as well keeps its own capacity. */
  get waitingElsewhere(): readonly Reservation[] {
    const heads = this.#runner.headsBesides(this.#pool.name);
    return heads.filter(({ request }) => !this.#requests.has(request.id));
  }

  get foreignReservations(): readonly Reservation[] {
    const others = this.#runner.reservationsBesides(this.#pool.name);
    return this.launches ? [...others, ...this.#reservationsElsewhere()] : others;
  }

  /** What accepted requests of this pool wait for. */
  get ownReservations(): readonly Reservation[] {
    return this.#runner.reservationsOf(this.#pool.name);
  }

  /** Limits are the driver's where it knows any; use is what the records show, whatever the driver. */
  get quota(): QuotaView {
    const { quota } = this.#runner.provider;
    return {
      need: (label) => this.needOf(label),
      providerTotal: quota ? quota.estimatedNodepoolQuota() : UNLIMITED,
      providerUsed: this.#runner.usedByProvider(),
      poolUsed: this.#runner.usedByPool(this.#pool.name),
    };
  }

  tenantLimit(tenant: string): Resources | undefined {
    return this.#port.tenantLimit(tenant);
  }

  tenantUsed(tenant: string): Resources {
    return this.#services.mirror.usage.ofTenant(tenant);
  }

  /** What requests lack that another launcher has begun to serve from this provider. */
  *#reservationsElsewhere(): Generator<Reservation> {
    const { mirror } = this.#services;
    for (const id of mirror.pendingRequests()) {
      const held = mirror.allocatedTo(id);
      const request = mirror.requests.get(id);
      if (!request || held.size === 0 || held.size >= request.labels.length || this.#port.isOurs(id)) continue;
      const missing = [...request.labels];
      let isHere = false;
      let isInPool = false;
      for (const nodeId of held) {
        const { provider, pool, labels: [label = ''] = [] } = mirror.nodes.get(nodeId) ?? {};
        isHere ||= provider === this.provider;
        isInPool ||= provider === this.provider && pool === this.#pool.name;
        const index = missing.indexOf(label);
        if (index >= 0) missing.splice(index, 1);
      }
      if (isHere) yield { request, need: this.#needOfAll(missing), isInPool };
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
