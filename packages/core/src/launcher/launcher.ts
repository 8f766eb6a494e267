import {
  isZooKeeperError,
  RecordError,
  withComponent,
  type ComponentRecord,
  type ConnectionState,
  type ControlRecord,
  type ImageEntry,
  type LockAware,
  type NodeRecord,
  type PoolComponentRecord,
  type RecordCache,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import type { ConditionSource } from '../conditions/condition-source.js';
import type { Config } from '../contract/config.js';
import type { AlienResource, HostStatus, LeakedResource } from '../contract/driver.js';
import type { PoolLoad } from '../contract/pool-load.js';
import { drain, endOrders } from './drain.js';
import type { LauncherEvents } from './state/events.js';
import type { SteeringReport } from './plan/steering.js';
import { checkModelApi } from './model-api.js';
import type { Feature } from './nodes/feature.js';
import type { DeletionStatus } from './nodes/reaper.js';
import type { LauncherOptions } from './options.js';
import { makeParts, type LauncherParts } from './parts.js';
import { explainRequest, type ExplainSubject, type RequestExplanation } from './plan/explanation.js';
import { describePool, type PoolStatus } from './pools/pool-status.js';
import type { DrainingStatus } from './providers/draining-providers.js';
import { readDatabase } from './state/ensure-roots.js';
import { nodesAllocatedTo } from './state/mirror.js';
import type { Occasion } from './state/part.js';
import { compareClocks, reconsiderAll, sweepPeriodically } from './sweeps.js';

const RENEW_AGAIN_MS = 1_000;

/**
 * A launcher without its process: providers, pools, taking nodes back, and cleaning up after launchers that died. Knows
 * nothing of processes, signals or the web.
 */
export class Launcher {
  readonly nodes: RecordCache<NodeRecord> & LockAware;
  readonly requests: RecordCache<RequestRecord> & LockAware;
  /** What it does beside launching, lending and deleting nodes. */
  readonly features: readonly Feature[];
  readonly events: LauncherEvents;
  /** The current conditions. */
  readonly conditions: ConditionSource;
  readonly #parts: LauncherParts;
  readonly #unsubscribe: (() => void)[] = [];
  /** The configuration that the start applies: a reload during the start replaces it. */
  #newestConfig: Config;
  #isRegistered = false;
  /** The session in which the launcher is registered. */
  #epoch = 0;
  /** The session that is being registered. */
  #renewing: number | undefined;

  constructor(options: LauncherOptions) {
    this.#newestConfig = options.config;
    this.#parts = makeParts(options);
    this.nodes = this.#parts.nodes;
    this.requests = this.#parts.requests;
    this.features = this.#parts.features;
    this.events = this.#parts.context.events;
    this.conditions = this.#parts.conditions;
  }

  /**
   * Resolves when the caches are complete and every provider that could start has started.
   * @param webUrl - address of this launcher's web server, published in the registry; default: none
   */
  async start(webUrl?: string): Promise<void> {
    const { context, components, parts, registry, registration, serverClock } = this.#parts;
    const { zk, logger, life } = context;
    await readDatabase(context, parts);
    this.#epoch = zk.sessionEpoch;
    await serverClock.measure(life.signal);
    this.#unsubscribe.push(zk.onState((state) => state === 'CONNECTED' && void compareClocks(context, serverClock)));
    await Promise.all(parts.flatMap((part) => part.start?.() ?? []));
    this.#follow();
    checkModelApi(components.values(), logger);
    await registration.register();
    this.#isRegistered = true;
    await this.reconfigure(this.#newestConfig);
    registration.update(withComponent(registration.body, { state: 'running', webUrl: webUrl ?? null }));
    life.isStarted = true;
    registry.begin(
      [...this.requests.values()].map(({ id }) => id),
      `${registration.body.kind}/${registration.id}`,
    );
    this.#reconsiderAll('start');
    void sweepPeriodically(context, parts, serverClock);
  }

  /**
   * Puts another configuration in force; parts whose configuration is unchanged continue undisturbed. Before the start has read
   * what there is, it only replaces the configuration that the start applies: a pool that is registered knows the others.
   */
  async reconfigure(config: Config): Promise<void> {
    this.#newestConfig = config;
    if (this.#isRegistered) await this.#parts.changes.apply(config);
  }

  /**
   * Accepts no more requests, finishes the work on accepted ones, and leaves the registry. Logs what could not be finished
   * within the deadline; other launchers take it over.
   */
  drain(deadlineMs: number): Promise<void> {
    return drain(this.#parts, deadlineMs);
  }

  /** Begins no more orders in clouds. Resolves when those that were begun have ended, and what they made is stored. */
  readonly endOrders = (): Promise<void> => endOrders(this.#parts);

  /** Stops everything at once, see {@link Launcher.drain}. Locks and registrations expire with the session. */
  async stop(): Promise<void> {
    const { context, parts } = this.#parts;
    const { life } = context;
    if (life.signal.aborted) return;
    life.stop();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    for (const part of parts) part.close?.();
    for (const part of [...parts].reverse()) void part.stop?.(); // a driver may take its time
    await Promise.resolve();
  }

  #follow(): void {
    this.#unsubscribe.push(
      this.#parts.context.zk.onState((state) => this.#connectionChanged(state)),
      ...[this.nodes, this.requests].map((cache) =>
        cache.onReady((ready) => ready && this.#reconsiderAll('reconnect')),
      ),
    );
  }

  #connectionChanged(state: ConnectionState): void {
    const { logger } = this.#parts.context;
    if (state === 'SUSPENDED') logger.warn('Connection to ZooKeeper suspended; no new work');
    if (state !== 'LOST') return;
    logger.warn('ZooKeeper session lost; its locks are gone, starting over in a new one');
    const cause = new Error('the ZooKeeper session was lost');
    for (const part of this.#parts.parts) part.sessionLost?.(cause);
  }

  /** Starts all work that is due, once the caches are complete. */
  #reconsiderAll(occasion: Occasion): void {
    const { context, parts } = this.#parts;
    const { life, zk } = context;
    if (!life.isComplete || !life.isStarted) return;
    if (this.#epoch === zk.sessionEpoch) void reconsiderAll(context, parts, occasion);
    else void this.#renewSession(zk.sessionEpoch, occasion);
  }

  /** Begins work in a new session once it is known which database it has, and registers again. */
  async #renewSession(epoch: number, occasion: Occasion): Promise<void> {
    const { context, parts } = this.#parts;
    const { life, logger, clock } = context;
    if (this.#renewing === epoch) return;
    this.#renewing = epoch;
    try {
      await readDatabase(context, parts);
      void reconsiderAll(context, parts, occasion);
      if (!life.isDraining) for (const part of parts) await part.sessionRenewed?.();
      this.#epoch = epoch;
    } catch (error) {
      if (life.signal.aborted) return;
      if (!isZooKeeperError(error) && !(error instanceof RecordError)) throw error;
      logger.warn('Could not register again; trying again', { error });
      clock.setTimer(RENEW_AGAIN_MS, () => this.#reconsiderAll(occasion));
    } finally {
      if (this.#renewing === epoch) this.#renewing = undefined;
      if (life.isActive) void reconsiderAll(context, parts, occasion);
    }
  }

  // --- queries of listings, health and API: synchronous and in memory ---------------------------------------------

  /** Why the launcher is not ready, in an operator's words; empty when it is. */
  get notReady(): readonly string[] {
    const { context, nodes, requests } = this.#parts;
    const missing: string[] = [];
    if (context.zk.state !== 'CONNECTED') missing.push('no connection to ZooKeeper');
    if (!nodes.ready || !requests.ready) missing.push('reading nodes and requests from ZooKeeper');
    if (!context.life.isStarted) missing.push('providers are being started');
    return missing;
  }

  /** The random id of the database; `undefined` before the start has read it. */
  get databaseId(): string | undefined {
    return this.#parts.context.life.databaseId;
  }

  /** The configuration in force. */
  get config(): Config {
    return this.#parts.context.config.now;
  }

  /** Operators' orders in force. */
  get controls(): readonly ControlRecord[] {
    return this.#parts.context.controls.inForce;
  }

  /** Images with their builds and uploads, by name. */
  get images(): ReadonlyMap<string, ImageEntry> {
    return this.#parts.images.images;
  }

  /** Calls the listener when an image, build or upload changed. @returns unsubscribes */
  onImageChange(listener: (image: string) => void): () => void {
    return this.events.on('imageChanged', ({ image }) => listener(image));
  }

  /** Registered pools of all launchers. */
  get components(): Iterable<PoolComponentRecord> {
    return this.#parts.registry.pools;
  }

  /** Whether no launcher offers the label. While pools of others may have yet to register, that is not known. */
  isUnknownLabel(label: string): boolean {
    return this.#parts.registry.isUnknownLabel(label);
  }

  /** Registered launchers, builders and pools. */
  get allComponents(): Iterable<ComponentRecord> {
    return this.#parts.components.values();
  }

  /** Providers that could not be started, and why. Their start is retried. */
  get providerErrors(): readonly { provider: string; error: string }[] {
    return this.#parts.providers.startErrors();
  }

  /** Providers that left the configuration and still have nodes. */
  get drainingProviders(): readonly DrainingStatus[] {
    return this.#parts.providers.draining;
  }

  /** Providers that fail, are slow, or lack capacity for labels or zones, and when they are probed. */
  get failingLaunches(): readonly { provider: string; report: SteeringReport }[] {
    return this.#parts.steering.reports();
  }

  /** Resources in clouds without a record. They are deleted when they are found again. */
  get leakedResources(): readonly (LeakedResource & { readonly provider: string })[] {
    return this.#parts.providers.leakedResources();
  }

  /** Resources with a provider's name that are not proven to belong to this database. They are never deleted. */
  get alienResources(): readonly (AlienResource & { readonly provider: string })[] {
    return this.#parts.providers.alienResources();
  }

  /** Existing machines that providers lend, and their users. */
  get hosts(): readonly (HostStatus & { readonly provider: string })[] {
    return this.#parts.providers.hosts();
  }

  /** Deletions that keep failing. */
  get failingDeletions(): readonly DeletionStatus[] {
    return this.#parts.reaper.failing();
  }

  /** The load of each of this launcher's pools. */
  get pools(): readonly PoolLoad[] {
    return this.#parts.pools.loads();
  }

  /** The same with quota, use and reservations. */
  get poolStatus(): readonly PoolStatus[] {
    return this.#parts.pools.configured.map(describePool);
  }

  /**
   * Explains why a request is waiting, or how one for these labels would be served: by the plans of this launcher's pools and
   * the registry entries of others. Changes nothing. `undefined`: the request is unknown.
   */
  explain(subject: ExplainSubject): RequestExplanation | undefined {
    return explainBy(this.#parts, subject);
  }
}

function explainBy(parts: LauncherParts, subject: ExplainSubject): RequestExplanation | undefined {
  const { context, pools, registry, requests, freeNodes, features } = parts;
  const nowMs = context.clock.now();
  return explainRequest(subject, {
    requests,
    workers: pools.configured,
    registered: registry.pools,
    nodesOf: (id) => nodesAllocatedTo(context.mirror, id),
    trialOf: (node) => features.flatMap((feature) => feature.explainNode?.(node) ?? [])[0],
    freeNodesOf: (label) => freeNodes?.explain(label),
    nowMs,
  });
}
