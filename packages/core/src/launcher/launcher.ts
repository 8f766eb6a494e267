import {
  isZooKeeperError,
  withComponent,
  type ComponentRecord,
  type ConnectionState,
  type ControlRecord,
  type ImageEntry,
  type NodeCache,
  type PoolComponentRecord,
  type RequestCache,
} from '@nodepool/zk-protocol';
import type { ConditionSource } from '../conditions/condition-source.js';
import type { Config } from '../contract/config.js';
import type { AlienResource, HostStatus, LeakedResource } from '../contract/driver.js';
import type { PoolLoad } from '../contract/pool-load.js';
import { nodeNote } from '../canary/notes.js';
import { drain } from './drain.js';
import type { LauncherEvents } from './events.js';
import type { SteeringReport } from './health/provider-steering.js';
import { checkModelApi } from './model-api.js';
import type { DeletionStatus } from './nodes/deletion-retries.js';
import type { LauncherOptions } from './options.js';
import { makeParts, type LauncherParts } from './parts.js';
import { explainRequest, type ExplainSubject, type RequestExplanation } from './plan/explanation.js';
import { describePool, type PoolStatus } from './pools/pool-status.js';
import type { DrainingStatus } from './providers/draining-providers.js';
import type { PoolChange } from './registry/registered-pools.js';
import { ensureRoots } from './state/ensure-roots.js';
import { nodesAllocatedTo } from './state/mirror.js';

/**
 * The part of a launcher that serves requests: providers, pools, the taking back of nodes, and the clean-up after
 * launchers that died. Knows nothing of processes, signals or the web.
 */
export class Launcher {
  readonly nodes: NodeCache;
  readonly requests: RequestCache;
  readonly events: LauncherEvents;
  /** What is wrong now. */
  readonly conditions: ConditionSource;
  readonly #parts: LauncherParts;
  readonly #unsubscribe: (() => void)[] = [];
  /** Perhaps not in force yet: a reload during the start is not to be undone by the start. */
  #newestConfig: Config;
  /** The session in which the launcher is registered. */
  #epoch = 0;

  constructor(options: LauncherOptions) {
    this.#newestConfig = options.config;
    this.#parts = makeParts(options);
    this.nodes = this.#parts.nodes;
    this.requests = this.#parts.requests;
    this.events = this.#parts.context.events;
    this.conditions = this.#parts.conditions;
  }

  // --- what it does -----------------------------------------------------------------------------------------------

  /**
   * Resolves when the caches are complete and every provider that could start has started.
   * @param webUrl - where this launcher answers the web, for others to find in the registry; default: nowhere
   */
  async start(webUrl?: string): Promise<void> {
    const { context, components, caches, registry, registration, metrics, sweeps, providers } = this.#parts;
    const { zk, logger, life } = context;
    life.databaseId = await ensureRoots(zk, life.signal);
    this.#epoch = zk.sessionEpoch;
    await Promise.all(caches.map((cache) => cache.start()));
    this.#follow();
    checkModelApi(components.values(), logger);
    await registration.register();
    await this.reconfigure(this.#newestConfig);
    registration.update(withComponent(registration.body, { state: 'running', webUrl: webUrl ?? null }));
    life.isStarted = true;
    registry.begin([...this.requests.values()].map(({ id }) => id));
    metrics?.start();
    this.#lookAtEverything();
    void providers.cleanupLeakedResources(); // tags what was made before there was a database id
    sweeps.schedule();
  }

  /**
   * Puts another configuration in force without disturbing what did not change. The start takes the newest one: no provider is
   * made before the id of the database is known.
   */
  async reconfigure(config: Config): Promise<void> {
    this.#newestConfig = config;
    if (this.databaseId !== undefined) await this.#parts.changes.apply(config);
  }

  /**
   * Accepts nothing more and leaves the registry; requests under way are brought to their end. What cannot be done within
   * the deadline, such as everything while ZooKeeper is away, is named in the log and left for other launchers.
   */
  drain(deadlineMs: number): Promise<void> {
    return drain(this.#parts, deadlineMs);
  }

  /**
   * Ends everything at once, providers as well; what they have under way is not waited for, see {@link Launcher.drain}.
   * Locks and registrations go with the session.
   */
  async stop(): Promise<void> {
    const { context, pools, metrics, providers, stopped, closed, caches } = this.#parts;
    const { life } = context;
    if (life.signal.aborted) return;
    life.stop();
    providers.close();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    pools.abandon(life.signal.reason as Error);
    metrics?.stop();
    for (const part of stopped) void part.stop(); // a driver may take its time
    for (const part of closed) part.close();
    for (const cache of caches) cache.stop();
    await Promise.resolve();
  }

  #follow(): void {
    const { context, registry, images } = this.#parts;
    this.#unsubscribe.push(
      this.nodes.onChange((change) => {
        const launcher = change.after?.launcher ?? null;
        if (launcher !== null && registry.isOwn(launcher)) images.nodeChanged(change);
      }),
      context.zk.onState((state) => this.#connectionChanged(state)),
      ...[this.nodes, this.requests].map((cache) => cache.onReady((ready) => ready && this.#lookAtEverything())),
      registry.onChange((change) => this.#registryChanged(change)),
    );
  }

  #connectionChanged(state: ConnectionState): void {
    const { logger } = this.#parts.context;
    if (state === 'SUSPENDED') logger.warn('Connection to ZooKeeper suspended; no new work');
    if (state !== 'LOST') return;
    logger.warn('ZooKeeper session lost; its locks are gone, starting over in a new one');
    this.#parts.pools.sessionLost(new Error('the ZooKeeper session was lost'));
  }

  #registryChanged({ before, after }: PoolChange): void {
    const { registry, reaper, minReady, lost, providers } = this.#parts;
    if (!before) minReady.poolAdded();
    if (after) reaper.poolRegistered(after.launcherId);
    if (before && !registry.has(before.launcherId)) reaper.poolLeft(before.launcherId);
    if (!before || after) return;
    void lost.checkAll();
    providers.poolLeft(before.providerName);
  }

  /** Caches are complete, at the start or after a reconnect: whatever is to be done is begun. */
  #lookAtEverything(): void {
    const { context, reaper, pools, drainedNodes, minReady, lost } = this.#parts;
    const { life, zk } = context;
    if (!life.isActive || !life.isStarted) return;
    const isNewSession = this.#epoch !== zk.sessionEpoch;
    this.#epoch = zk.sessionEpoch;
    if (isNewSession && !life.isDraining) void this.#registerAgain();
    reaper.sweep();
    pools.reconsiderAll();
    drainedNodes.checkAll();
    minReady.checkAll();
    void lost.checkAll();
  }

  async #registerAgain(): Promise<void> {
    const { context, registration, pools } = this.#parts;
    try {
      await registration.register();
      await pools.sessionRenewed();
    } catch (error) {
      if (!isZooKeeperError(error)) throw error;
      context.logger.warn('Could not register again; the next session tries anew', { error });
    }
  }

  // --- what listings, health and the API ask: synchronous and in memory -------------------------------------------

  /** What is not started yet, in an operator's words; empty when ready. */
  get notReady(): readonly string[] {
    const { context, nodes, requests } = this.#parts;
    const missing: string[] = [];
    if (context.zk.state !== 'CONNECTED') missing.push('no connection to ZooKeeper');
    if (!nodes.ready || !requests.ready) missing.push('reading nodes and requests from ZooKeeper');
    if (!context.life.isStarted) missing.push('providers are being started');
    return missing;
  }

  /** Random id of the database; `undefined` before the start has read it. */
  get databaseId(): string | undefined {
    return this.#parts.context.life.databaseId;
  }

  /** Orders of operators that are in force. */
  get controls(): readonly ControlRecord[] {
    return this.#parts.context.controls.inForce;
  }

  /** Tells when an order came into force, changed or ended. @returns ends it */
  onControlsChange(listener: () => void): () => void {
    return this.#parts.context.controls.onChange(listener);
  }

  /** Images with their builds and uploads, by name. */
  get images(): ReadonlyMap<string, ImageEntry> {
    return this.#parts.images.images;
  }

  /** Tells when an image, build or upload changed. @returns ends it */
  onImageChange(listener: (image: string) => void): () => void {
    return this.#parts.images.onChange(listener);
  }

  /** Registered pools of all launchers. */
  get components(): Iterable<PoolComponentRecord> {
    return this.#parts.registry.pools;
  }

  /** Registered launchers, builders and pools. */
  get allComponents(): Iterable<ComponentRecord> {
    return this.#parts.components.values();
  }

  /** Providers that could not be started, and why. They are tried again. */
  get providerErrors(): readonly { provider: string; error: string }[] {
    return this.#parts.providers.startErrors();
  }

  /** Providers that left the configuration and still have nodes. They end when the last one is gone. */
  get drainingProviders(): readonly DrainingStatus[] {
    return this.#parts.providers.draining;
  }

  /** Providers whose launches fail, or fail for some labels, and when they are tried again. */
  get failingLaunches(): readonly { provider: string; report: SteeringReport }[] {
    return this.#parts.steering.reports();
  }

  /** What was found in clouds that no record knows. It is deleted when it is found again. */
  get leakedResources(): readonly (LeakedResource & { readonly provider: string })[] {
    return this.#parts.providers.leakedResources();
  }

  /** What carries the name of a provider and is not proven to belong to this database. It is never deleted. */
  get alienResources(): readonly (AlienResource & { readonly provider: string })[] {
    return this.#parts.providers.alienResources();
  }

  /** Machines that providers lend, with who has them. */
  get hosts(): readonly (HostStatus & { readonly provider: string })[] {
    return this.#parts.providers.hosts();
  }

  /** Deletions that keep failing. */
  get failingDeletions(): readonly DeletionStatus[] {
    return this.#parts.reaper.failing();
  }

  /** Load of each pool of this launcher. */
  get pools(): readonly PoolLoad[] {
    return this.#parts.pools.loads();
  }

  /** The same with quota, use and reservations. */
  get poolStatus(): readonly PoolStatus[] {
    return this.#parts.pools.configured.map(describePool);
  }

  /**
   * Why a request is where it is, or what would become of one for these labels. Pools of this launcher are asked, of the
   * others is told what the registry shows. Changes nothing.
   * @returns `undefined` for an unknown request id
   */
  explain(subject: ExplainSubject): RequestExplanation | undefined {
    const { context, pools, registry, images, requests } = this.#parts;
    const nowMs = context.clock.now();
    return explainRequest(subject, {
      requests,
      workers: pools.configured,
      registered: registry.pools,
      nodesOf: (id) => nodesAllocatedTo(context.mirror, id),
      trialOf: (node) => nodeNote(images.images, node, nowMs),
      nowMs,
    });
  }
}
