import { isNodepoolError, type JsonObject, type NodeRecord, type RequestRecord } from '@nodepool/zk-protocol';
import type {
  AlienResource,
  LeakedResource,
  ImageUpload,
  LaunchOrder,
  LaunchResult,
  NodeRequestHandler,
  Provider,
  ProviderContext,
  ProviderImage,
  QuotaSupport,
  UnusableNode,
} from '../../contract/driver.js';
import type { FoundCondition } from '../../contract/condition.js';
import type { Resource } from '../../contract/instance.js';
import { LOGGER_NAMES } from '../../contract/logger-names.js';
import type { PoolConfig } from '../../contract/provider-config.js';
import type { InstanceList } from '../operations/instance-list.js';
import type { UnreadableEntries } from '../operations/unreadable-entries.js';
import { unansweredConditions, unansweredText } from '../task-manager/open-calls.js';
import { pauseConditions } from '../task-manager/pause-condition.js';
import { TaskManager } from '../task-manager/task-manager.js';
import { deleteInstance } from './delete-instance.js';
import { stopInstance } from './stop-instance.js';
import { LaunchAttempts } from './launch-attempts.js';
import type { LabelNeeds } from './label-needs.js';
import type { LaunchServices } from './launch-work.js';
import type { LeakFinder } from '../ownership/leak-finder.js';
import { makeAdapter, makeParts, makeServices, type StateMachineProviderParts } from './provider-parts.js';
import type { ProviderQuota } from './quota.js';
import type { LabelReadiness } from './label-readiness.js';
import type { Zones } from './zones.js';
import { imageOfLabel } from './node-fields.js';
import type { MachineWatch } from './machine-watch.js';
import type { Adapter, AdapterContext, StateMachinePoolConfig, StateMachineProviderConfig } from './types.js';

const DEFAULT_PARALLEL_CALLS = 10;
/** Errors after which cached facts about the cloud are read again. */
const FACT_ERRORS = ['NODEPOOL_CONFIG', 'NODEPOOL_NOT_FOUND', 'NODEPOOL_CAPACITY'];

/**
 * The provider of a state-machine driver: makes and deletes nodes with the machines of its adapter, tracks the quota, finds leaks.
 * Running launches and deletions finish after `stop`; `join` waits for them.
 */
export class StateMachineProvider implements Provider {
  readonly config: StateMachineProviderConfig;
  readonly quota: QuotaSupport;
  /** Paces the calls of the adapter. */
  protected readonly tasks: TaskManager;
  protected readonly context: ProviderContext;
  protected readonly adapter: Adapter;
  readonly #instances: InstanceList;
  readonly #entries: UnreadableEntries;
  readonly #services: LaunchServices;
  readonly #needs: LabelNeeds;
  readonly #quota: ProviderQuota;
  readonly #zones: Zones;
  readonly #readiness: LabelReadiness;
  readonly #leaks: LeakFinder;
  readonly #machines: MachineWatch;
  readonly #active = new Set<Promise<unknown>>();
  readonly uploadImage?: Provider['uploadImage'];
  readonly deleteImage?: Provider['deleteImage'];
  readonly listImages?: Provider['listImages'];
  readonly tagResource?: Provider['tagResource'];
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
    this.tasks = this.#makeTasks();
    const { adapter, instances, entries } = makeAdapter(context, this.tasks, getAdapter);
    this.adapter = adapter;
    this.#instances = instances;
    this.#entries = entries;
    const made = makeParts(config, context, adapter, instances, entries);
    this.#needs = made.needs;
    this.#zones = made.zones;
    this.#readiness = made.readiness;
    this.#quota = made.quota;
    this.quota = made.quota;
    this.#leaks = made.leaks;
    this.#machines = made.machines;
    this.#services = makeServices(config, context, adapter, instances, () => this.#unanswered, parts);
    if (adapter.uploadImage) this.uploadImage = (upload, signal) => this.#upload(upload, signal);
    if (adapter.listImages) this.listImages = (signal, options) => this.#listImages(signal, options);
    if (adapter.tagResource) this.tagResource = (resource, tags, signal) => this.#tag(resource, tags, signal);
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
    this.#machines.start();
    this.context.capacityChanged();
  }

  refresh(): void {
    this.adapter.refresh?.();
    this.#needs.refresh();
    this.#readiness.refresh();
    this.#quota.refresh();
  }

  idle(): void {
    this.#idle = true;
    this.#needs.stop();
    this.#zones.stop();
    this.#quota.stop();
    this.#readiness.stop();
    this.#machines.stop();
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
    // The pools of a state-machine provider are of its own kind.
    return new StateMachineHandler(this, pool as StateMachinePoolConfig, request);
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

  stopNode(node: NodeRecord, signal: AbortSignal): Promise<JsonObject> {
    const logger = this.context.logger.child({ nodeId: node.id, pool: node.pool });
    return this.#track(stopInstance(this.#services, node, logger, signal));
  }

  async cleanupLeakedResources(signal: AbortSignal): Promise<void> {
    if (this.#idle) return;
    await this.#track(this.#leaks.run(signal));
  }

  unusableNodes(): readonly UnusableNode[] {
    return this.#machines.found;
  }

  leakedResources(): readonly LeakedResource[] {
    return this.#leaks.found;
  }

  alienResources(): readonly AlienResource[] {
    return this.#leaks.aliens;
  }

  conditions(): readonly FoundCondition[] {
    const ofLabels = new Map([...this.#readiness.conditions, ...this.#needs.conditions].map((one) => [one.name, one]));
    const { name } = this.config;
    const pauses = this.#managers.flatMap((each) => each.pauses);
    const late = unansweredConditions(name, this.#unanswered);
    const unanswered = late.length > 0 ? late : this.#services.uncertain.conditions(name);
    const ofCalls = [...pauseConditions(name, pauses), ...unanswered, ...this.#entries.conditions];
    return [...(this.adapter.conditions?.() ?? []), ...ofCalls, ...ofLabels.values()];
  }

  get #managers(): readonly TaskManager[] {
    return [this.tasks, ...(this.adapter.taskManagers?.() ?? [])];
  }

  get #unanswered(): string | undefined {
    const late = this.#managers.flatMap(({ lateCalls }) => lateCalls);
    return unansweredText(late, this.context.clock);
  }

  listResources(signal: AbortSignal): Promise<readonly Resource[]> {
    return this.#track(this.adapter.listResources(signal));
  }

  nodeDeletedNotification(node: NodeRecord): void {
    this.adapter.nodeDeletedNotification?.(node);
  }

  /** The zone of all new nodes of a request. @param label - of its first node */
  chooseZone(pool: StateMachinePoolConfig, label: string | undefined): string | null {
    return this.#zones.choose(pool, label);
  }

  /** Whether the machine of a ready node can be used, as far as is known. */
  isUsable({ id }: NodeRecord): boolean {
    return !this.#machines.isSuspect(id);
  }

  /** What a new node of the label takes over from its image. */
  imageFields(pool: StateMachinePoolConfig, name: string | undefined): Partial<NodeRecord> {
    const label = name === undefined ? undefined : pool.labels.get(name);
    return (label && imageOfLabel(this.config, label, this.context.images)?.fields) ?? {};
  }

  /** Launches a node; the result is also what the quota and the prerequisites of the label learn from. */
  async launch(order: LaunchOrder, signal: AbortSignal): Promise<LaunchResult> {
    const { request } = order;
    const logger = this.context.logger.child(
      { requestId: request.id, eventId: request.eventId },
      LOGGER_NAMES.stateMachineLaunch(this.config.name),
    );
    const result = await this.#track(new LaunchAttempts(this.#services, order, signal, logger).run());
    if (result.state === 'ready') this.#quota.launchSucceeded();
    if (FACT_ERRORS.some((code) => isNodepoolError(result.error, code))) {
      this.#readiness.recheck(order.label.name, order.pool.name);
      this.#needs.recheck(order.label.name, order.pool.name);
    }
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

  async #tag(resource: Resource, tags: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
    await this.#track(Promise.resolve(this.adapter.tagResource?.(resource, tags, signal)));
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

/** Works one request. All nodes of a request share one zone. */
class StateMachineHandler implements NodeRequestHandler {
  readonly #provider: StateMachineProvider;
  readonly #pool: StateMachinePoolConfig;
  readonly #request: RequestRecord;
  #az: string | null = null;

  constructor(provider: StateMachineProvider, pool: StateMachinePoolConfig, request: RequestRecord) {
    this.#provider = provider;
    this.#pool = pool;
    this.#request = request;
  }

  imagesAvailable(): boolean {
    return this.#request.labels.every((label) => this.#provider.labelReady(this.#pool.name, label));
  }

  launch(order: LaunchOrder, signal: AbortSignal): Promise<LaunchResult> {
    return this.#provider.launch(order, signal);
  }

  acceptsNode(node: NodeRecord): boolean {
    return (this.#az === null || node.az === this.#az) && this.#provider.isUsable(node);
  }

  nodeReusedNotification(node: NodeRecord): void {
    this.#az ??= node.az;
  }

  setNodeMetadata(node: NodeRecord): NodeRecord {
    const [name] = node.labels;
    this.#az ??= node.az ?? this.#provider.chooseZone(this.#pool, name);
    return { ...node, ...this.#provider.imageFields(this.#pool, name), az: this.#az };
  }
}
