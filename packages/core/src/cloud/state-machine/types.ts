import type { JsonObject, NodeRecord, RequestRecord, Resources } from '@nodepool/zk-protocol';
import type {
  Driver,
  ImageUpload,
  ProviderConfigContext,
  ProviderContext,
  ProviderImage,
} from '../../contract/driver.js';
import type { FoundCondition } from '../../contract/condition.js';
import type { PoolConfig, PoolLabelConfig, ProviderConfig } from '../../contract/provider-config.js';
import type { Logger } from '../../contract/logger.js';
import type { Instance, InstanceChange, InstanceView, Resource } from '../../contract/instance.js';
import type { MachineState, StateMachine } from '../../contract/state-machine.js';
import type { PollingLimits } from '../operations/read-pace.js';
import type { TaskManager } from '../task-manager/task-manager.js';
import type { EntryReader } from '../operations/unreadable-entries.js';

/** How to log in to instances of an image. `null` is stored as such. */
export interface ImageConnection {
  readonly username: string | null;
  readonly pythonPath: string | null;
  readonly shellType: string | null;
  readonly connectionType: string | null;
  readonly connectionPort: number;
}

/** An image that is already in the cloud. Drivers extend this with how to find it. */
export interface CloudImageConfig extends ImageConnection {
  readonly name: string;
  /** SSH public key for instances of the image, where the driver hands one over. */
  readonly key?: string | undefined;
}

/** A managed image as one provider uses it; login data comes from the upload unless it is given here. */
export interface ProviderDiskimageConfig extends Partial<ImageConnection> {
  readonly name: string;
}

/** A label of a state-machine driver. */
export interface StateMachineLabelConfig extends PoolLabelConfig {
  /** Read the SSH host keys before the node is ready. */
  readonly hostKeyChecking: boolean;
  /** Log the console when the host keys cannot be read. */
  readonly consoleLog?: boolean | undefined;
}

/** A pool of a state-machine driver. */
export interface StateMachinePoolConfig extends PoolConfig {
  readonly labels: ReadonlyMap<string, StateMachineLabelConfig>;
  /** Prefer the private address. Default false. */
  readonly useInternalIp?: boolean | undefined;
}

/** A provider of a state-machine driver. */
export interface StateMachineProviderConfig extends ProviderConfig {
  readonly pools: ReadonlyMap<string, StateMachinePoolConfig>;
  /** Limit of one launch attempt, deletion of the attempt before and key scan included. */
  readonly launchTimeoutMs: number;
  /** Limit of the key scan. */
  readonly bootTimeoutMs: number;
  /** Attempts before a launch fails. */
  readonly launchRetries: number;
  /** Calls to the cloud per second; `undefined` or `0`: no limit. */
  readonly requestsPerSecond?: number | undefined;
  /** Calls to the cloud at the same time. Default 10. */
  readonly maxParallelCalls?: number | undefined;
  readonly cloudImages: ReadonlyMap<string, CloudImageConfig>;
  readonly diskimages: ReadonlyMap<string, ProviderDiskimageConfig>;
}

/** The instance to create. */
export interface CreateOrder<
  Label extends StateMachineLabelConfig = StateMachineLabelConfig,
  Pool extends StateMachinePoolConfig = StateMachinePoolConfig,
> {
  /** At most 15 characters. */
  readonly hostname: string;
  readonly label: Label;
  readonly pool: Pool;
  /** The cloud's id of the uploaded image, for labels with a `diskimage`. */
  readonly imageExternalId: string | undefined;
  /** Tags that must be found again on the listed instance. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly request: RequestRecord;
  readonly node: NodeRecord;
  readonly az: string | null;
  /** Counts from 1; at least 2 if an earlier attempt, of this launcher or another, may have made an instance. */
  readonly attempt: number;
  /** Set if a launcher that is gone began the creation. */
  readonly resumed?: ResumedCreation | undefined;
  readonly logger: Logger;
}

/** A creation that another launcher began. */
export interface ResumedCreation {
  /**
   * The state in which the external id became known, as the machine returned it: the machine continues there. `undefined`: no id
   * was stored, but the cloud may be about to make an instance with the tags of the node.
   */
  readonly state: MachineState | undefined;
  /**
   * When that launcher ordered the instance if it did, by the steady time of this process, as `nowMs` of a machine: the start of a first attempt. A later one may
   * have begun with a deletion, so that it is the present. `undefined`: it cannot have ordered one.
   */
  readonly orderedMs: number | undefined;
}

/** The instance to delete, or to stop. */
export interface DeleteOrder {
  readonly externalId: string;
  /** Its node, unless the record is gone already. */
  readonly node: NodeRecord | undefined;
  readonly logger: Logger;
}

/**
 * The calls to one cloud. All calls must honor their signal. Errors decide what core does next: `QuotaError` (the request waits),
 * `CapacityError`, `NotFoundError`, `ProviderUnavailableError` and its subclass `RateLimitedError` (back off), `ConfigError` (the
 * label cannot work); any other error is a failed attempt.
 */
export interface Adapter<
  I extends Instance = Instance,
  Label extends StateMachineLabelConfig = StateMachineLabelConfig,
  Pool extends StateMachinePoolConfig = StateMachinePoolConfig,
> {
  /** Prepares the adapter before anything else is called. A rejection is tried again with back-off. */
  start?(signal: AbortSignal): Promise<void>;
  /** Drops what it remembers of the cloud, such as images and flavors, which core asks for again. */
  refresh?(): void;
  /** Releases what the adapter holds. Called once, after everything has ended. */
  stop?(): void | Promise<void>;
  /**
   * A machine that creates one instance. Its first step should look for what an earlier attempt left, by tag. Should
   * it fail without an external id, core looks for instances with the node's tags and deletes them.
   */
  getCreateStateMachine(order: CreateOrder<Label, Pool>): StateMachine<Instance, I>;
  /** A machine that deletes one instance and ends when the cloud confirms that it is gone. */
  getDeleteStateMachine(order: DeleteOrder): StateMachine<void, I>;
  /**
   * A machine that stops one instance, if it still runs, and ends when the cloud shows it as stopped. Its result is the state of
   * the creation that starts the instance again: see {@link CreateOrder.resumed}. That state must cope with an instance that is
   * being started or runs, and keeps the external id. Fails with `NotFoundError` if the instance is gone. For drivers that declare
   * `stops`.
   */
  getStopStateMachine?(order: DeleteOrder): StateMachine<MachineState, I>;
  /** All visible instances, ours or not. */
  listInstances(signal: AbortSignal): Promise<readonly I[]>;
  /** One instance, `undefined` when there is none: used instead of lists while few machines wait. */
  getInstance?(externalId: string, signal: AbortSignal): Promise<I | undefined>;
  /**
   * Whether the instance of a node exists, asked without a list, as none shows it. For clouds without `getInstance`, or with instances
   * that lists leave out. Default: `getInstance`, else another list.
   */
  hasInstance?(node: NodeRecord, signal: AbortSignal): Promise<boolean>;
  /**
   * Reports changes as they happen, so that no list need be polled. Called once, before `start`. Returns how to end it.
   */
  onInstanceChange?(listener: (change: InstanceChange<I>) => void): () => void;
  /** How often lists may be taken while machines wait. Default: every 500 ms to 10 s. */
  readonly polling?: PollingLimits | undefined;
  /**
   * For how long lists may miss an instance that was made, or show one that is gone, ms. After a creation without an answer
   * core waits as long before it takes a list for proof that nothing was made, and nothing is deleted as leaked before it has
   * been seen for as long. Default: 0, lists show the present.
   */
  readonly listLagMs?: number | undefined;
  /** All taggable resources. */
  listResources(signal: AbortSignal): Promise<readonly Resource[]>;
  /** Deletes a leaked resource. A missing resource counts as deleted. */
  deleteResource(resource: Resource, signal: AbortSignal): Promise<void>;
  /**
   * Adds tags to a resource and keeps its others. Missing: resources keep the tags they were made with, so that those of
   * another origin can never be cleaned up here. @throws {NotFoundError} it is gone
   */
  tagResource?(resource: Resource, tags: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void>;
  /** What the cloud allows in total; missing names are unlimited. Default: unlimited. */
  getQuotaLimits?(signal: AbortSignal): Promise<Resources>;
  /** What one node of the label needs. Default: one instance. @throws {ConfigError} the label can never work */
  getQuotaForLabel?(label: Label, pool: Pool, signal: AbortSignal): Promise<Resources>;
  /** Zones to choose from where a pool names none. Default: one without a name. */
  getAZs?(signal: AbortSignal): Promise<readonly (string | null)[]>;
  /**
   * Whether prerequisites such as the cloud image exist. An answer given later is remembered. Default: true.
   * @throws {ConfigError} they do not; says why
   */
  labelReady?(label: Label, pool: Pool, signal: AbortSignal): boolean | Promise<boolean>;
  /** As the provider's methods of these names. */
  uploadImage?(upload: ImageUpload, signal: AbortSignal): Promise<string>;
  deleteImage?(externalId: string, signal: AbortSignal): Promise<void>;
  listImages?(signal: AbortSignal, options?: { readonly all?: boolean | undefined }): Promise<readonly ProviderImage[]>;
  /** The console of an instance; `undefined` when there is none. */
  getConsoleLog?(label: Label, externalId: string, signal: AbortSignal): Promise<string | undefined>;
  /** The host keys of an instance could not be read. */
  notifyNodescanFailure?(label: Label, externalId: string): void | Promise<void>;
  /** The node's record is gone. */
  nodeDeletedNotification?(node: NodeRecord): void;
  /** As the provider's method of this name; core adds the labels that cannot be used, and long pauses of calls. */
  conditions?(): readonly FoundCondition[];
  /** Task managers besides that of its context: their pauses, and calls without an answer, become conditions. */
  taskManagers?(): readonly TaskManager[];
}

/** What an adapter works with: everything a provider has, and what core shares among its machines. */
export interface AdapterContext extends ProviderContext {
  /** Paces all calls to the cloud. */
  readonly tasks: TaskManager;
  /** Reads the lists of the cloud, so that one broken entry does not hide the others, and reports what cannot be read. */
  readonly entries: EntryReader;
  /** The shared list of instances. */
  readonly instances: InstanceView;
}

/** What makes a state-machine driver. */
export interface StateMachineDriverOptions<Config extends StateMachineProviderConfig> extends Pick<
  Driver,
  'name' | 'schema' | 'reset' | 'checkAll' | 'setup'
> {
  /** Default: it uploads no images. */
  readonly managesImages?: boolean | undefined;
  /**
   * Its create machines continue from {@link CreateOrder.resumed}: states with an external id hold JSON, and all that follows is
   * reached from the first of them by what the cloud shows. Default: false.
   */
  readonly resumes?: boolean | undefined;
  /** Its adapters have `getStopStateMachine`. Needs `resumes`. Default: false. */
  readonly stops?: boolean | undefined;
  /** Typed form of an entry that has passed the schema. */
  getProviderConfig(entry: JsonObject, context: ProviderConfigContext): Config;
  /** See {@link Driver.missingRights}. */
  missingRights?(
    config: Config,
    context: Parameters<NonNullable<Driver['missingRights']>>[1],
  ): ReturnType<NonNullable<Driver['missingRights']>>;
  /** Makes the adapter of a provider. Must not do I/O. */
  getAdapter(config: Config, context: AdapterContext): Adapter;
}
