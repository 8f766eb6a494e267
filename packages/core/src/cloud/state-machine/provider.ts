import type { NodeRecord, RequestRecord } from '@nodepool/zk-protocol';
import type {
  ImageUpload,
  LaunchOrder,
  LaunchResult,
  NodeRequestHandler,
  Provider,
  ProviderContext,
  ProviderImage,
  QuotaSupport,
} from '../../contract/driver.js';
import { LOGGER_NAMES } from '../../contract/logger-names.js';
import type { PoolConfig } from '../../contract/provider-config.js';
import { scanHostKeys } from '../key-scan/scan-host-keys.js';
import { ScanQueue } from '../key-scan/scan-queue.js';
import { InstanceList } from '../operations/instance-list.js';
import { NEVER_ABORTED } from '../../async/never-aborted.js';
import { TaskManager } from '../task-manager/task-manager.js';
import { deleteInstance } from './delete-instance.js';
import { StateMachineHandler, type HandlerHost } from './handler.js';
import { LabelNeeds } from './label-needs.js';
import { Launch } from './launch.js';
import type { LaunchServices } from './launch-services.js';
import { LeakFinder } from './leaks.js';
import { imageOfLabel } from './node-fields.js';
import { ProviderQuota } from './quota.js';
import { Readiness } from './readiness.js';
import type { Adapter, AdapterContext, StateMachinePoolConfig, StateMachineProviderConfig } from './types.js';
import { Zones } from './zones.js';

/** Parts that may be replaced. */
export interface StateMachineProviderParts {
  /** Limit of the key scan. Default: the boot timeout. */
  readonly keyScanTimeoutMs?: number;
  /** Reads host keys. Default: over the network. */
  readonly scan?: typeof scanHostKeys;
}

const DEFAULT_PARALLEL_CALLS = 10;

/**
 * A running provider of any state-machine driver: makes and deletes nodes with the machines of its adapter, knows the
 * quota, finds leaks. Launches and deletions that have begun are finished after `stop`; `join` waits for them.
 */
export class StateMachineProvider implements Provider {
  readonly config: StateMachineProviderConfig;
  readonly quota: QuotaSupport;
  /** Paces the calls of the adapter. */
  protected readonly tasks: TaskManager;
  protected readonly context: ProviderContext;
  protected readonly adapter: Adapter;
  readonly #instances: InstanceList;
  readonly #services: LaunchServices;
  readonly #needs: LabelNeeds;
  readonly #quota: ProviderQuota;
  readonly #zones: Zones;
  readonly #readiness: Readiness;
  readonly #leaks: LeakFinder;
  readonly #active = new Set<Promise<unknown>>();
  readonly uploadImage?: Provider['uploadImage'];
  readonly deleteImage?: Provider['deleteImage'];
  readonly listImages?: Provider['listImages'];
  #idle = false;
  #joined: Promise<void> | undefined;

  constructor(
    config: StateMachineProviderConfig,
    context: ProviderContext,
    getAdapter: (context: AdapterContext) => Adapter,
    parts: StateMachineProviderParts = {},
  ) {
    this.config = config;
    this.context = context;
    const { clock, metrics, images, nodes, zk } = context;
    const logger = context.logger.child({}, LOGGER_NAMES.stateMachine(config.name));
    const random = () => context.random();
    this.tasks = this.#makeTasks();
    const made = makeAdapter(context, this.tasks, random, getAdapter);
    this.adapter = made.adapter;
    this.#instances = made.instances;
    const { adapter } = this;
    const instances = this.#instances;
    const changed = () => context.capacityChanged();
    const shared = { config, adapter, clock, logger, random, changed };
    this.#needs = new LabelNeeds(shared);
    this.#zones = new Zones(shared);
    this.#readiness = new Readiness({ ...shared, images });
    this.#quota = new ProviderQuota({
      ...shared,
      provider: config.name,
      instances,
      needs: this.#needs,
      settled: () => this.#zones.settled,
      nodes,
      ownNodes: () => context.ownNodes(),
    });
    this.quota = this.#quota;
    this.#leaks = new LeakFinder({
      ...{ provider: config.name, adapter, nodes, images, zk, logger, metrics },
      deleted: ({ id }) => this.#quota.leakDeleted(id),
    });
    this.#services = {
      config,
      adapter,
      instances,
      images,
      scans: new ScanQueue(),
      scan: parts.scan ?? scanHostKeys,
      keyScanTimeoutMs: parts.keyScanTimeoutMs ?? config.bootTimeoutMs,
      clock,
      metrics,
      random,
    };
    if (adapter.uploadImage) this.uploadImage = (upload, signal) => this.#upload(upload, signal);
    if (adapter.listImages) this.listImages = (signal, options) => this.#listImages(signal, options);
    if (adapter.deleteImage) this.deleteImage = (externalId, signal) => this.#deleteImage(externalId, signal);
  }

  /** Resolves when the adapter is ready; limits, needs and zones are read in the background, and requests wait for them. */
  async startImages(signal: AbortSignal): Promise<void> {
    await this.adapter.start?.(signal);
  }

  async start(signal: AbortSignal): Promise<void> {
    await this.adapter.start?.(signal);
    if (this.#idle) return;
    this.#needs.start();
    this.#zones.start();
    this.#quota.start();
    this.context.capacityChanged();
  }

  idle(): void {
    this.#idle = true;
    this.#needs.stop();
    this.#zones.stop();
    this.#quota.stop();
    this.#readiness.stop();
  }

  stop(): void {
    this.idle();
  }

  join(): Promise<void> {
    this.#joined ??= this.#end();
    return this.#joined;
  }

  labelReady(pool: string, label: string): boolean {
    return this.#readiness.isReady(pool, label);
  }

  errorLabels(): ReadonlySet<string> {
    return this.#needs.errorLabels;
  }

  getRequestHandler(pool: PoolConfig, request: RequestRecord): NodeRequestHandler {
    return new StateMachineHandler(this.#handlerHost(), pool, request);
  }

  startNodeCleanup(node: NodeRecord, signal: AbortSignal): Promise<void> | undefined {
    if (node.externalId === null) return undefined;
    const externalId = typeof node.externalId === 'string' ? node.externalId : JSON.stringify(node.externalId);
    const logger = this.context.logger.child(
      { nodeId: node.id, pool: node.pool },
      LOGGER_NAMES.stateMachineDeletion(this.config.name),
    );
    return this.#track(deleteInstance(this.#services, externalId, node, logger, signal));
  }

  async cleanupLeakedResources(signal: AbortSignal): Promise<void> {
    if (!this.#idle) await this.#track(this.#leaks.run(signal));
  }

  nodeDeletedNotification(node: NodeRecord): void {
    this.adapter.nodeDeletedNotification?.(node);
  }

  /** What handlers use; for providers with a handler of their own. */
  protected handlerHost(): HandlerHost {
    return this.#handlerHost();
  }

  #handlerHost(): HandlerHost {
    const { config, context } = this;
    return {
      launch: (order, signal) => this.#launch(order, signal),
      labelReady: (pool, label) => this.labelReady(pool, label),
      chooseZone: (pool: StateMachinePoolConfig) => this.#zones.choose(pool),
      imageFields: (pool, name) => {
        const label = pool.labels.get(name);
        return (label && imageOfLabel(config, label, context.images)?.fields) ?? {};
      },
    };
  }

  async #launch(order: LaunchOrder, signal: AbortSignal): Promise<LaunchResult> {
    const { request } = order;
    const logger = this.context.logger.child(
      { requestId: request.id, eventId: request.eventId },
      LOGGER_NAMES.stateMachineLaunch(this.config.name),
    );
    const result = await this.#track(new Launch(this.#services, order, signal, logger).run());
    if (result.state === 'ready') this.#quota.launchSucceeded();
    if (result.state === 'aborted') this.#quota.invalidateQuotaCache();
    return result;
  }

  #upload(upload: ImageUpload, signal: AbortSignal): Promise<string> {
    const { adapter } = this;
    if (!adapter.uploadImage) throw new Error('the adapter uploads no images');
    return this.#track(adapter.uploadImage(upload, signal));
  }

  async #listImages(
    signal: AbortSignal,
    options?: { readonly all?: boolean | undefined },
  ): Promise<readonly ProviderImage[]> {
    const { adapter } = this;
    return adapter.listImages ? this.#track(adapter.listImages(signal, options)) : [];
  }

  async #deleteImage(externalId: string, signal: AbortSignal): Promise<void> {
    await this.#track(Promise.resolve(this.adapter.deleteImage?.(externalId, signal)));
  }

  async #track<T>(work: Promise<T>): Promise<T> {
    this.#active.add(work);
    try {
      return await work;
    } finally {
      this.#active.delete(work);
    }
  }

  async #end(): Promise<void> {
    while (this.#active.size > 0) await Promise.allSettled([...this.#active]);
    this.#instances.stop();
    await this.adapter.stop?.();
    this.tasks.stop();
    await this.tasks.join();
  }

  #makeTasks(): TaskManager {
    const { clock, logger, metrics } = this.context;
    return new TaskManager(this.config.name, {
      clock,
      logger,
      metrics,
      requestsPerSecond: this.config.requestsPerSecond,
      maxParallel: this.config.maxParallelCalls ?? DEFAULT_PARALLEL_CALLS,
      random: () => this.context.random(),
    });
  }
}

/** The adapter gets the shared list, and the list asks the adapter: neither may be used before both are there. */
function makeAdapter(
  context: ProviderContext,
  tasks: TaskManager,
  random: () => number,
  getAdapter: (context: AdapterContext) => Adapter,
): { adapter: Adapter; instances: InstanceList } {
  const { clock, logger } = context;
  const made: { list?: InstanceList } = {};
  const instances = (): InstanceList => {
    if (!made.list) throw new Error('the list of instances cannot be used while the adapter is being made');
    return made.list;
  };
  const adapter = getAdapter({
    ...context,
    config: () => context.config(),
    ownNodes: () => context.ownNodes(),
    capacityChanged: (pool) => context.capacityChanged(pool),
    random,
    tasks,
    instances: {
      find: (externalId) => instances().find(externalId, instances().mark(), NEVER_ABORTED),
      list: () => instances().list(instances().mark(), NEVER_ABORTED),
    },
  });
  made.list = new InstanceList({
    ...{ source: adapter, clock, logger, random },
    onRead: (ageMs) => context.metrics?.instanceListAge?.(tasks.name, ageMs),
  });
  return { adapter, instances: made.list };
}
