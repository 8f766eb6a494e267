import { setMaxListeners } from 'node:events';
import {
  createCommitter,
  createComponentCache,
  createControlCache,
  createNodeCache,
  createRequestCache,
  isZooKeeperError,
  judgeModelApi,
  MODEL_API,
  NodepoolError,
  newComponent,
  withComponent,
  type CancelTimer,
  type Clock,
  type ComponentCache,
  type ComponentRecord,
  type ControlCache,
  type ControlRecord,
  type ConnectionState,
  type ImageEntry,
  type NodeCache,
  type NodeRecord,
  type PoolComponentRecord,
  type RequestCache,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import { LOGGER_NAMES } from '../contract/logger-names.js';
import type { Config } from '../contract/config.js';
import type { PoolConfig } from '../contract/provider-config.js';
import type { DriverRegistry } from '../config/discovery/registry-types.js';
import { loggingAs, type Services } from './mirror/services.js';
import { DrainedNodes } from './nodes/drained-nodes.js';
import { AgeLimits } from './nodes/age-limits.js';
import { expireNode } from './nodes/expire-node.js';
import { Leftovers } from './nodes/leftovers.js';
import { LateUnlocks } from './requests/late-unlocks.js';
import { LostRequests } from './requests/lost-requests.js';
import { MinReady } from './standby/min-ready.js';
import { Reaper, type DeletionStatus } from './nodes/reaper.js';
import type { Logger } from '../contract/logger.js';
import type { LauncherMetrics, MetricsAttachment } from '../metrics/types.js';
import { ControlMirror } from './mirror/controls.js';
import { ImageMirror } from './mirror/image-mirror.js';
import { ensureRoots } from './mirror/ensure-roots.js';
import { Mirror, nodesAllocatedTo } from './mirror/mirror.js';
import { AbandonedRequests } from './requests/abandoned-requests.js';
import { explainRequest, type ExplainSubject, type RequestExplanation } from './plan/explanation.js';
import type { DrainingStatus } from './providers/draining-providers.js';
import { shortName } from './pools/short-name.js';
import { PoolCandidates } from './pools/pool-candidates.js';
import { PoolRegistry } from './pools/pool-registry.js';
import { PoolSet } from './pools/pool-set.js';
import { describePool, type PoolStatus } from './pools/pool-status.js';
import { needOfNode, ProviderSet } from './providers/provider-set.js';
import { SteeringSet } from './steering/steering-set.js';
import type { SteeringReport } from './steering/provider-steering.js';
import { Registration } from './pools/registration.js';
import { RegistryOutlook, type RegistryOutlookOptions } from './pools/registry-outlook.js';
import { unfinishedAfter } from '../async/unfinished-after.js';

/** What a launcher is made of. */
export interface LauncherOptions {
  /** Connected or connecting; the caller closes it. */
  readonly zk: ZooKeeper;
  readonly config: Config;
  readonly registry: DriverRegistry;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Fully qualified name of this host. */
  readonly hostname: string;
  /** Release, published in the component registry. */
  readonly version: string;
  /** Also register pools below `/nodepool/launchers`, where old launchers and an old Zuul look. Default: false. */
  readonly announceLegacy?: boolean;
  /** Where work is counted; the caller closes it. Missing: nowhere. */
  readonly metrics?: LauncherMetrics | undefined;
  /** Default: `Math.random`. */
  readonly random?: () => number;
}

/** Standby nodes are asked for only when no pool has been added for this long. */
const REGISTRY_REST_MS = 300;

/** Time between the slow sweeps that catch what a watch missed. */
const SWEEP_MS = 60_000;

/**
 * The part of a launcher that serves requests: providers, pools, the taking back of nodes, and the clean-up after
 * launchers that died. Knows nothing of processes, signals or the web.
 */
export class Launcher {
  readonly nodes: NodeCache;
  readonly requests: RequestCache;
  readonly #options: LauncherOptions;
  readonly #services: Services;
  readonly #metrics: MetricsAttachment | undefined;
  readonly #componentCache: ComponentCache;
  readonly #controlCache: ControlCache;
  readonly #controls: ControlMirror;
  readonly #drained: DrainedNodes;
  readonly #registry: PoolRegistry;
  readonly #outlook: RegistryOutlook;
  readonly #pools: PoolSet;
  readonly #steering: SteeringSet;
  readonly #images: ImageMirror;
  readonly #providers: ProviderSet;
  readonly #reaper: Reaper;
  readonly #lost: LostRequests;
  readonly #lateUnlocks: LateUnlocks;
  readonly #abandoned: AbandonedRequests;
  readonly #leftovers: Leftovers;
  readonly #ages: AgeLimits;
  readonly #minReady: MinReady;
  readonly #registration: Registration<ComponentRecord>;
  readonly #stop = new AbortController();
  readonly #unsubscribe: (() => void)[] = [];
  #config: Config;
  /** Perhaps not in force yet: a reload during the start is not to be undone by the start. */
  #newestConfig: Config;
  #disabledLabels: ReadonlySet<string> = new Set();
  #reconfiguring: Promise<void> = Promise.resolve();
  /** When a pool was last added to the registry. */
  #poolAddedMs = -Infinity;
  #epoch = 0;
  #started = false;
  #draining = false;
  #cancelSweep: CancelTimer | undefined;

  constructor(options: LauncherOptions) {
    const { zk, clock, hostname, metrics } = options;
    const logger = options.logger.child({}, LOGGER_NAMES.launcher);
    setMaxListeners(0, this.#stop.signal); // one for each request that is recovered once the connection is back
    this.#options = options;
    this.#config = this.#newestConfig = options.config;
    this.nodes = createNodeCache({ zk, clock, logger });
    this.requests = createRequestCache({ zk, clock, logger });
    this.#componentCache = createComponentCache({ zk, clock, logger });
    this.#controlCache = createControlCache({ zk, clock, logger });
    this.#controls = new ControlMirror(this.#controlCache, clock);
    const mirror = new Mirror(this.nodes, this.requests, (node) => needOfNode(this.#providers.runnerOf(node), node));
    const committer = createCommitter(zk, [this.nodes, this.requests, this.#componentCache]);
    const random = options.random ?? Math.random;
    const controls = this.#controls;
    this.#services = { zk, committer, mirror, controls, clock, logger, hostname, random, metrics };
    this.#registry = new PoolRegistry(this.#componentCache);
    this.#outlook = this.#makeOutlook((id) => candidates.isOwn(id));
    const { version } = options;
    const candidates = new PoolCandidates({ zk, hostname, version, registry: this.#registry, outlook: this.#outlook });
    const cleanup = loggingAs(this.#services, LOGGER_NAMES.cleanup);
    this.#lateUnlocks = new LateUnlocks(cleanup);
    this.#steering = new SteeringSet({
      ...{ clock, logger },
      config: () => this.#config,
      changed: (provider) => this.#pools.healthChanged(provider),
    });
    this.#pools = new PoolSet(this.#services, {
      steering: (provider) => this.#steering.of(provider),
      ...{ version, candidates },
      announceLegacy: options.announceLegacy ?? false,
      registry: this.#registry,
      disabledLabels: () => this.#disabledLabels,
      tenantLimit: (tenant) => this.#config.tenantLimits.get(tenant),
      isActive: () => this.#isActive(),
      releaseNode: (node, why) => this.#releaseNode(node, why),
      unlockLater: (entry) => this.#lateUnlocks.keep(entry),
      isRecovering: (id) => this.#abandoned.isRecovering(id),
      onAbandoned: ({ id }, epoch) => this.#abandoned.recover(id, epoch),
      ended: (provider) => this.#providers.poolEnded(provider),
    });
    this.#images = new ImageMirror({
      ...{ zk, clock, logger },
      changed: (provider) => {
        this.#pools.capacityChanged(provider);
        this.#minReady.checkAll();
      },
    });
    this.#providers = new ProviderSet(this.#services, options.registry, {
      images: this.#images,
      config: () => this.#config,
      capacityChanged: (provider, pool) => this.#pools.capacityChanged(provider, pool),
      providerStarted: ({ name }) => {
        this.#pools.capacityChanged(name);
        this.#minReady.checkAll();
      },
      isWorkedFor: (name) => this.#pools.isWorkedFor(name),
      isServedElsewhere: (name) => this.#registry.pools.some((pool) => pool.providerName === name),
      releaseNode: (node, why) => this.#releaseNode(node, why),
      restart: (name) => void this.#inTurn(() => this.#restartProvider(name)),
    });
    this.#reaper = new Reaper(loggingAs(this.#services, LOGGER_NAMES.deletedNodes), {
      providerOf: (node) => this.#providers.providerOf(node),
      isActive: () => this.#isActive(),
    });
    this.#lost = new LostRequests(cleanup, (id) => this.#pools.handles(id));
    this.#abandoned = new AbandonedRequests(cleanup, {
      signal: this.#stop.signal,
      isOurs: (id) => this.#pools.handles(id),
      reset: (id) => this.#lost.check(id),
      recovered: (id) => this.#pools.lookAgain(id),
    });
    this.#leftovers = new Leftovers(cleanup);
    this.#ages = new AgeLimits(cleanup, {
      config: () => this.#config,
      isConfigured: (node) => this.#providers.providerOf(node) !== undefined,
      isActive: () => this.#isActive(),
    });
    this.#drained = this.#makeDrained(cleanup);
    this.#minReady = this.#makeMinReady();
    this.#metrics = this.#attachMetrics();
    const kind = { kind: 'launcher', hostname: shortName(hostname), version: options.version } as const;
    this.#registration = new Registration(zk, newComponent({ ...kind, state: 'stopped' }), logger);
  }

  #makeDrained(services: Services): DrainedNodes {
    return new DrainedNodes(services, {
      launchingPoolOf: (node) => this.#launchingPoolOf(node),
      releaseNode: (node, why) => this.#releaseNode(node, why),
    });
  }

  #makeMinReady(): MinReady {
    return new MinReady(this.#services, {
      config: () => this.#config,
      isActive: () => this.#started && !this.#draining && this.#isActive(),
      canLaunch: (label) => this.#pools.canLaunch(label),
      isFirst: (label) => this.#pools.isFirstFor(label),
      registryRestMs: () => this.#poolAddedMs + REGISTRY_REST_MS - this.#services.clock.now(),
    });
  }

  #makeOutlook(isOwn: RegistryOutlookOptions['isOwn']): RegistryOutlook {
    const { clock } = this.#options;
    const isConfigured = (provider: string) => this.#config.providers.has(provider);
    const caches = { components: this.#componentCache, registry: this.#registry, nodes: this.nodes };
    const parts = { clock, ...caches, isOwn, isConfigured };
    return new RegistryOutlook({ ...parts, changed: () => this.#pools.reconsiderAll() });
  }

  #attachMetrics(): MetricsAttachment | undefined {
    return this.#options.metrics?.attach({
      zk: this.#options.zk,
      nodes: this.nodes,
      requests: this.requests,
      images: this.#images,
      registry: this.#registry,
      config: () => this.#config,
      pools: () => this.pools,
      controls: () => this.controls,
      failingDeletions: () => this.#reaper.failing().length,
      failingProviders: () =>
        this.failingLaunches.filter(({ report }) => report.provider.state !== 'closed').map(({ provider }) => provider),
    });
  }

  /** What is not started yet, in an operator's words; empty when ready. */
  get notReady(): readonly string[] {
    const missing: string[] = [];
    if (this.#options.zk.state !== 'CONNECTED') missing.push('no connection to ZooKeeper');
    if (!this.nodes.ready || !this.requests.ready) missing.push('reading nodes and requests from ZooKeeper');
    if (!this.#started) missing.push('providers are being started');
    return missing;
  }

  /** Orders of operators that are in force. */
  get controls(): readonly ControlRecord[] {
    return this.#controls.inForce;
  }

  /** Images with their builds and uploads, by name. */
  get images(): ReadonlyMap<string, ImageEntry> {
    return this.#images.images;
  }

  /** Registered pools of all launchers. */
  get components(): Iterable<PoolComponentRecord> {
    return this.#registry.pools;
  }

  /** Providers that could not be started, and why. They are tried again. */
  get providerErrors(): readonly { provider: string; error: string }[] {
    return [...this.#providers.all()]
      .filter((runner) => runner.startError !== undefined)
      .map((runner) => ({ provider: runner.name, error: runner.startError ?? '' }));
  }

  /** Providers that left the configuration and still have nodes. They end when the last one is gone. */
  get drainingProviders(): readonly DrainingStatus[] {
    return this.#providers.draining;
  }

  /** Providers whose launches fail, or fail for some labels, and when they are tried again. */
  get failingLaunches(): readonly { provider: string; report: SteeringReport }[] {
    return this.#steering.reports();
  }

  /** Deletions that keep failing. */
  get failingDeletions(): readonly DeletionStatus[] {
    return this.#reaper.failing();
  }

  /** Load of each pool of this launcher. */
  get pools(): readonly { provider: string; pool: string; handling: number; waiting: number; paused: number }[] {
    return this.#pools.configured.map(({ view, load }) => ({
      provider: view.provider,
      pool: view.pool.name,
      ...load,
    }));
  }

  /** The same with quota, use and reservations. */
  get poolStatus(): readonly PoolStatus[] {
    return this.#pools.configured.map(describePool);
  }

  /** Registered launchers, builders and pools. */
  get allComponents(): Iterable<ComponentRecord> {
    return this.#componentCache.values();
  }

  /** Tells when an image, build or upload changed. @returns ends it */
  onImageChange(listener: (image: string) => void): () => void {
    return this.#images.onChange(listener);
  }

  /**
   * Why a request is where it is, or what would become of one for these labels. Pools of this launcher are asked, of the
   * others is told what the registry shows. Changes nothing.
   * @returns `undefined` for an unknown request id
   */
  explain(subject: ExplainSubject): RequestExplanation | undefined {
    return explainRequest(subject, {
      requests: this.requests,
      workers: this.#pools.configured,
      registered: this.#registry.pools,
      nodesOf: (id) => nodesAllocatedTo(this.#services.mirror, id),
      nowMs: this.#services.clock.now(),
    });
  }

  /**
   * Resolves when the caches are complete and every provider that could start has started.
   * @param webUrl - where this launcher answers the web, for others to find in the registry; default: nowhere
   */
  async start(webUrl?: string): Promise<void> {
    const { zk, clock } = this.#options;
    await ensureRoots(zk, this.#stop.signal);
    this.#epoch = zk.sessionEpoch;
    const caches = [this.nodes, this.requests, this.#componentCache, this.#controlCache, this.#images];
    await Promise.all(caches.map((cache) => cache.start()));
    this.#unsubscribe.push(
      zk.onState((state) => this.#stateChanged(state)),
      this.nodes.onReady((ready) => ready && this.#cachesReady()),
      this.requests.onReady((ready) => ready && this.#cachesReady()),
      this.#registry.onChange(({ before, after }) => {
        if (!before) this.#poolAddedMs = clock.now();
        if (after) this.#reaper.poolRegistered(after.launcherId);
        if (before && !this.#registry.has(before.launcherId)) this.#reaper.poolLeft(before.launcherId);
        if (!before || after) return;
        void this.#lost.checkAll();
        this.#providers.poolLeft(before.providerName, this.#stop.signal);
      }),
    );
    this.#checkModelApi();
    await this.#registration.register();
    await this.reconfigure(this.#newestConfig);
    this.#registration.update(withComponent(this.#registration.body, { state: 'running', webUrl: webUrl ?? null }));
    this.#started = true;
    this.#outlook.begin([...this.requests.values()].map(({ id }) => id));
    this.#metrics?.start();
    this.#cachesReady();
    this.#scheduleSweep();
  }

  /** Puts another configuration in force without disturbing what did not change. */
  reconfigure(config: Config): Promise<void> {
    this.#newestConfig = config;
    return this.#inTurn(() => this.#apply(config));
  }

  /** What changes the providers is done one after the other. */
  #inTurn(change: () => Promise<void>): Promise<void> {
    const run = this.#reconfiguring.then(change);
    this.#reconfiguring = run.catch(() => undefined);
    return run;
  }

  async #restartProvider(name: string): Promise<void> {
    try {
      if (await this.#providers.restart(name)) await this.#applyPools(name);
    } catch (error) {
      this.#services.logger.error('A provider could not be started anew; a reload tries again', {
        provider: name,
        error,
      });
    }
  }

  /**
   * Accepts nothing more and leaves the registry; requests under way are brought to their end. What cannot be done within
   * the deadline, such as everything while ZooKeeper is away, is named in the log and left for other launchers.
   */
  async drain(deadlineMs: number): Promise<void> {
    if (this.#draining) return;
    this.#draining = true;
    const { clock, logger, zk } = this.#services;
    const isIdle = !this.#reaper.isBusy && this.pools.every(({ handling }) => handling === 0);
    const limitMs = zk.state !== 'CONNECTED' && isIdle ? 0 : deadlineMs;
    const endMs = clock.now() + limitMs;
    const requests = this.#pools.drain();
    this.#providers.close();
    const steps: [string, () => Promise<unknown>][] = [
      ['requests under way and the registration of pools', () => requests],
      ['deletions and providers', () => Promise.all([this.#reaper.stop(), this.#providers.stop()])],
      ['the locks of fulfilled requests', () => this.#lateUnlocks.flush()],
      ['the registration of the launcher', () => this.#registration.remove()],
    ];
    const unfinished: string[] = [];
    for (const [what, begin] of steps) {
      unfinished.push(...(await unfinishedAfter(Math.max(0, endMs - clock.now()), clock, new Map([[what, begin()]]))));
    }
    if (unfinished.length === 0) return;
    logger.warn('Not everything could be finished in time; other launchers will take over', {
      deadlineMs,
      unfinished: unfinished.join('; '),
      zookeeper: zk.state === 'CONNECTED' ? 'connected' : 'away; what is ours there ends with the session',
    });
  }

  /** Ends everything at once. Locks and registrations go with the session. */
  async stop(): Promise<void> {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort(new Error('the launcher stops'));
    this.#cancelSweep?.();
    this.#steering.close();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#pools.abandon(this.#stop.signal.reason as Error);
    this.#metrics?.stop();
    this.#minReady.stop();
    this.#ages.stop();
    this.#drained.stop();
    this.#controls.close();
    this.#controlCache.stop();
    this.#lost.stop();
    this.#lateUnlocks.stop();
    this.#outlook.close();
    this.#registry.close();
    this.#services.mirror.close();
    this.nodes.stop();
    this.requests.stop();
    this.#componentCache.stop();
    this.#images.stop();
    await Promise.resolve();
  }

  /** A process that knows less of the data model than all others could damage what they write. */
  #checkModelApi(): void {
    const others = [...this.#componentCache.values()].map((component) => component.modelApi);
    const { start, system } = judgeModelApi(MODEL_API, others);
    if (start === 'refuse') {
      throw new NodepoolError(
        'NODEPOOL_MODEL_API',
        `every other component uses data model ${system}, this launcher knows ${MODEL_API}: upgrade it`,
      );
    }
    if (start === 'compatibility') {
      this.#services.logger.info('Running in compatibility mode: an older component is registered', { system });
    }
  }

  async #apply(config: Config): Promise<void> {
    this.#config = config;
    this.#disabledLabels = new Set([...config.labels.values()].filter((l) => l.minReady === -1).map((l) => l.name));
    this.#pools.prepare(config);
    try {
      await this.#providers.apply(config);
      await Promise.all([...config.providers.keys()].map((name) => this.#applyPools(name)));
    } finally {
      this.#pools.settleCandidates();
    }
    this.#reaper.sweep();
    this.#ages.reload();
    this.#minReady.checkAll();
    this.#metrics?.configChanged();
  }

  async #applyPools(name: string): Promise<void> {
    const runner = this.#providers.get(name);
    if (!runner || this.#draining) return;
    await this.#pools.apply(runner);
  }

  #isActive(): boolean {
    return (
      this.#options.zk.state === 'CONNECTED' && this.nodes.ready && this.requests.ready && !this.#stop.signal.aborted
    );
  }

  #launchingPoolOf(node: NodeRecord): PoolConfig | undefined {
    const runner = this.#isActive() ? this.#providers.runnerOf(node) : undefined;
    return runner?.launches === true && node.pool !== null ? runner.config.pools.get(node.pool) : undefined;
  }

  #releaseNode(node: NodeRecord, why: string): void {
    expireNode(this.#services, node, why).catch((error: unknown) =>
      this.#services.logger.warn('Could not delete an unused node', { nodeId: node.id, error }),
    );
  }

  #stateChanged(state: ConnectionState): void {
    if (state === 'SUSPENDED') this.#services.logger.warn('Connection to ZooKeeper suspended; no new work');
    if (state !== 'LOST') return;
    this.#services.logger.warn('ZooKeeper session lost; its locks are gone, starting over in a new one');
    const cause = new Error('the ZooKeeper session was lost');
    this.#pools.sessionLost(cause);
  }

  /** Caches are complete, at the start or after a reconnect: look at everything once. */
  #cachesReady(): void {
    if (!this.#isActive() || !this.#started) return;
    const renewed = this.#epoch !== this.#options.zk.sessionEpoch;
    this.#epoch = this.#options.zk.sessionEpoch;
    if (renewed && !this.#draining) void this.#registerAgain();
    this.#reaper.sweep();
    this.#pools.reconsiderAll();
    this.#drained.checkAll();
    this.#minReady.checkAll();
    void this.#lost.checkAll();
  }

  async #registerAgain(): Promise<void> {
    try {
      await this.#registration.register();
      await this.#pools.sessionRenewed();
    } catch (error) {
      if (!isZooKeeperError(error)) throw error;
      this.#services.logger.warn('Could not register again; the next session tries anew', { error });
    }
  }

  #scheduleSweep(): void {
    this.#cancelSweep = this.#services.clock.setTimer(SWEEP_MS, () => {
      void this.#sweep().finally(() => {
        if (!this.#stop.signal.aborted && !this.#draining) this.#scheduleSweep();
      });
    });
  }

  async #sweep(): Promise<void> {
    if (!this.#isActive()) return;
    const { logger, metrics } = this.#services;
    this.#providers.sweep();
    const deletions = this.#reaper.sweep();
    const standby = this.#minReady.sweep();
    const woken = this.#pools.sweep();
    metrics?.sweepFound('waiting-request', woken);
    metrics?.sweepFound('deletion', deletions);
    metrics?.sweepFound('standby-node', standby);
    const tasks = [
      this.#lost.checkAll().then((found) => metrics?.sweepFound('lost-request', found)),
      this.#leftovers.sweep(),
      this.#providers.cleanupLeakedResources(this.#stop.signal),
    ];
    for (const result of await Promise.allSettled(tasks)) {
      if (result.status === 'rejected') logger.warn('A periodic clean-up failed', { error: result.reason as unknown });
    }
  }
}
