import type {
  Clock,
  Committer,
  JsonObject,
  LockAware,
  NodeId,
  NodeRecord,
  RecordCache,
  RequestRecord,
  Resources,
  ZooKeeper,
} from '@nodepool/zk-protocol';
import type { DriverSetup } from './driver-setup.js';
import type { PoolConfig, PoolLabelConfig, ProviderConfig } from './provider-config.js';
import type { FoundCondition } from './condition.js';
import type { Config, ConfigProblem, DiskimageConfig, LabelConfig } from './config.js';
import type { Logger } from './logger.js';
import type { OperationMetrics } from './operation-metrics.js';
import type { ImageSource } from './images.js';
import type { Resource } from './instance.js';

/**
 * Version of the contract in this file. A driver package declares the one it was written for. It is also the major version of
 * `@nodepool/core`: a range such as `^1.0.0` accepts every core that runs the driver.
 */
export const DRIVER_API_VERSION = 1;

/**
 * A JSON schema (draft-07, as ajv reads it). Each key carries a `description`, and its `default` or, in words, `x-default`.
 * Mark secrets with `"x-secret": true`: they are redacted everywhere.
 */
export type JsonSchema = JsonObject;

/** What a driver can do; parts of the contract, and of its test kit, apply by these. */
export interface DriverCapabilities {
  /** Makes nodes on request. `false`: only what is registered can be handed out (static). */
  readonly launches: boolean;
  /** A request that does not fit now is accepted and waits holding its nodes. `false`: it waits unaccepted. */
  readonly pausesAtQuota: boolean;
  /** The builder uploads images to its providers. */
  readonly managesImages: boolean;
  /**
   * How many launches may be under way at once follows from how long they take and how many fail. Default: true. `false`
   * where a launch is only part of a machine, or waits for what another provider makes.
   */
  readonly rampsLaunches?: boolean | undefined;
  /**
   * All that its providers do stands in ZooKeeper: they call no cloud and reach no host, but to scan host keys. `nodepool
   * replay` runs such a driver as it is, while it plays the machines of others from the record. Default: false.
   */
  readonly recordsOnly?: boolean | undefined;
}

/**
 * What a driver package exports as `driver`. Importing the package must do nothing else. One object serves all
 * providers of the driver for the life of the process.
 */
export interface Driver {
  /** The value of `driver:` in the configuration. */
  readonly name: string;
  readonly apiVersion: number;
  readonly capabilities: DriverCapabilities;
  /** Schema of the driver's own keys of a provider entry; the common keys (`name`, `driver`, ...) are added by core. */
  readonly schema: JsonSchema;
  /** Lets `nodepool init --cloud NAME` write a provider. Missing: a provider is written by hand. */
  readonly setup?: DriverSetup | undefined;
  /** Drops global state. Called before every load of the configuration. */
  reset?(): void | Promise<void>;
  /**
   * Turns a provider entry that has passed the schema into its typed form. Called for each load and each validation.
   * Report what the schema cannot see through `context.problem`; throw nothing for bad input.
   */
  getProviderConfig(entry: JsonObject, context: ProviderConfigContext): ProviderConfig;
  /** Makes the running object for a new or changed provider. Must not do I/O; that belongs into `start`. */
  getProvider(config: ProviderConfig, context: ProviderContext): Provider;
  /** Checks across all providers of this driver, e.g. identities that must be unique in the file. */
  checkAll?(configs: readonly ProviderConfig[], problem: ProblemReporter): void;
  /**
   * What a provider with this configuration would do to the nodes the provider has now, for `nodepool plan`. Must not do
   * I/O. Missing: nodes are made for requests, and a changed configuration leaves those that exist unchanged.
   * @param config - as `getProviderConfig` made it; without pools when the provider leaves the configuration
   * @param nodes - those of the provider
   * @param all - those of all providers
   */
  previewChange?(config: ProviderConfig, nodes: readonly NodeRecord[], all: readonly NodeRecord[]): ChangePreview;
}

/** Nodes a changed configuration would make or take away by itself. */
export interface ChangePreview {
  /** `what`: e.g. the host that gets them. */
  readonly register: readonly { readonly what: string; readonly labels: readonly string[]; readonly count: number }[];
  readonly delete: readonly { readonly node: NodeId; readonly why: string }[];
  /** Nodes that are not named above are left as they are, as those of any driver. Default: nothing is said of them. */
  readonly leavesOthers?: boolean;
}

/** @param path - keys below the provider entry, e.g. `['pools', 0, 'nodes', 2, 'name']` */
export type ProblemReporter = (
  provider: string,
  path: readonly (string | number)[],
  message: string,
  severity?: ConfigProblem['severity'],
) => void;

/** What a driver gets to check a provider entry against. */
export interface ProviderConfigContext {
  readonly labels: ReadonlyMap<string, LabelConfig>;
  readonly diskimages: ReadonlyMap<string, DiskimageConfig>;
  /** Environment of the process, e.g. for `OS_CLIENT_CONFIG_FILE`. Default: empty. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Where the service keeps its state (`--state-dir`). Default: what is usual for this user. */
  readonly stateDir?: string | undefined;
  /** Records a problem at a place of this provider entry. */
  problem(path: readonly (string | number)[], message: string, severity?: ConfigProblem['severity']): void;
}

/** Services a provider works with. They live as long as the launcher. */
export interface ProviderContext {
  readonly zk: ZooKeeper;
  /**
   * Random id of the database: what is made carries it as {@link DATABASE_ID_TAG}, and only what carries it is deleted without
   * a record. `undefined` in a command on a database that has none yet: then nothing is proven to belong to it.
   */
  readonly databaseId: string | undefined;
  readonly clock: Clock;
  /** Already carries the provider's name. */
  readonly logger: Logger;
  readonly nodes: RecordCache<NodeRecord> & LockAware;
  readonly requests: RecordCache<RequestRecord>;
  readonly committer: Committer;
  /** Host's fully qualified name. */
  readonly hostname: string;
  /** The configuration in force. */
  config(): Config;
  /** Nodes of this provider, from the mirror. */
  ownNodes(): Iterable<NodeRecord>;
  /** Asks for a look at waiting requests: call it when capacity appeared without a node record having changed. */
  capacityChanged(pool?: string): void;
  /**
   * Takes a node of this provider back that is ready and that no request has, because its instance is gone or about to go: it is
   * deleted as an operator deletes it, and no job gets it. A node that is in use is its user's.
   * Missing in commands and builders, which serve no requests. @param why - for people, also in the comment of the record
   * @returns whether the node was withdrawn
   */
  withdrawNode?(id: NodeId, why: string): Promise<boolean>;
  /**
   * Told how a call for the list of machines has ended, so that core knows whether the cloud answers while nothing is
   * launched. Missing: nobody wants to know. @param error - with which it failed
   */
  apiAnswered?(error: Error | undefined): void;
  /** Whether nodes of the label are better made in another zone, where there has been no capacity. Missing: no. */
  avoidsZone?(zone: string, label: string): boolean;
  /** Random number in [0, 1). */
  readonly random: () => number;
  /** Where launches, deletions and calls are counted. */
  readonly metrics?: OperationMetrics | undefined;
  /** Uploaded images; missing where nothing follows their records: then labels with a `diskimage` cannot be launched. */
  readonly images?: ImageSource | undefined;
  /**
   * Aborted when the launcher takes no more requests for the provider: it left the configuration, or the launcher stops.
   * Launches under way may finish. One that waits for what no provider has begun to make should end `aborted`: its
   * request is then put back for others. Nodes of a provider that left are still deleted by it; `stop` follows when
   * none is left.
   */
  readonly closing?: AbortSignal | undefined;
}

/** A running provider. */
export interface Provider extends ProviderNotifications {
  readonly config: ProviderConfig;
  /**
   * Starts background work. Called once after construction, also when a changed configuration replaced an older object.
   * A rejection leaves the provider out of the running configuration; it is tried again with back-off.
   */
  start(signal: AbortSignal): Promise<void>;
  /**
   * Prepares for `uploadImage`, `deleteImage` and `listImages` and nothing else: builders and commands call it instead of
   * `start`. A rejection is tried again at the next use. Missing: these need no preparation.
   */
  startImages?(signal: AbortSignal): Promise<void>;
  /** Stops periodic actions that could disturb a successor. */
  idle(): void;
  /** Takes no new tasks; running ones may finish. Must not block. */
  stop(): void;
  /** Resolves when everything under way has ended. Called after `stop`. */
  join(): Promise<void>;
  /** False while a prerequisite of the label, such as its cloud image, is missing. Not about quota. */
  labelReady(pool: string, label: string): boolean;
  /** A fresh handler for one request in one pool. */
  getRequestHandler(pool: PoolConfig, request: RequestRecord): NodeRequestHandler;
  /**
   * Removes what is behind a locked node whose state is already `deleting`. Safe to repeat; what is already gone counts
   * as removed. Resolves once it is gone; `undefined` means there is nothing to remove.
   */
  startNodeCleanup(node: NodeRecord, signal: AbortSignal): Promise<void> | undefined;
  /**
   * Whether anything is behind the node that `startNodeCleanup` would remove. Default: it has an external id. Drivers
   * whose machines stay (static) say no, and the record goes in one step.
   */
  ownsResource?(node: NodeRecord): boolean;
  /** How many nodes of the label the pool can have at the most, when that is fixed, e.g. configured slots. */
  labelCapacity?(pool: string, label: string): number | undefined;
  /**
   * Whether the pool can ever have a node for each of these labels at once. For drivers whose nodes serve several labels,
   * so that there may be enough for each label, but not for all of them. Default: yes.
   */
  canHold?(pool: string, labels: readonly string[]): boolean;
  /**
   * What keeps the pool from having as many nodes of the label as it could, for people: one sentence each, with what is
   * wrong with what, such as `host1 port 22: the name has no address`. Asked when a person wants to know why a request
   * waits.
   */
  hindrances?(pool: string, label: string): readonly string[];
  /**
   * What is wrong now that only the driver knows: a flavor, image or network that does not exist, a host that does not answer, a
   * login that is refused. Asked every few seconds, so it answers from what it knows without calling the cloud, and leaves out
   * what has been found to be well again. `lastSeenMs` tells when it was last found to be so.
   */
  conditions?(): readonly FoundCondition[];
  /** The machines it lends, for drivers that do not make them: in memory, for people. Missing: it lends none. */
  hosts?(): readonly HostStatus[];
  /**
   * Deletes resources with the tags of this provider and this database that no record knows. Called at the start and every
   * minute. Never deletes what carries another database id, or none.
   */
  cleanupLeakedResources(signal: AbortSignal): Promise<void>;
  /**
   * What the last look found that no record knows, and is still there: in memory, for people. Missing: the driver does not tell.
   */
  leakedResources?(): readonly LeakedResource[];
  /**
   * Resources that carry the provider's tag, but neither the id of this database nor a record in it, as the last look found
   * them: in memory, for people. Missing: the driver does not report them.
   */
  alienResources?(): readonly AlienResource[];
  /** All taggable resources of the cloud, for `nodepool adopt`. Missing: only images can be adopted. */
  listResources?(signal: AbortSignal): Promise<readonly Resource[]>;
  /**
   * Adds tags to a resource that exists, and keeps its others. Used to add the database id to resources of existing records
   * after an upgrade, and by `nodepool adopt`. Missing: resources keep the tags they were made with.
   */
  tagResource?(resource: Resource, tags: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void>;
  /** Labels found permanently unusable. */
  errorLabels(): ReadonlySet<string>;
  /** Quota of the provider; missing for drivers without quota. */
  readonly quota?: QuotaSupport;
  /**
   * Uploads an image, for builders. Heeds the signal; what an upload that fails or is aborted leaves in the cloud is
   * deleted by the driver as far as it can, and found by its tags otherwise.
   * @returns its external id, once the cloud has it whole
   */
  uploadImage?(upload: ImageUpload, signal: AbortSignal): Promise<string>;
  /** Deletes an uploaded image. One that is gone counts as deleted; a rejection means: try again later. */
  deleteImage?(externalId: string, signal: AbortSignal): Promise<void>;
  /** The images of the cloud that carry the provider's tag, whole or not; and, with `all`, every other one it shows. */
  listImages?(signal: AbortSignal, options?: { readonly all?: boolean | undefined }): Promise<readonly ProviderImage[]>;
}

/** A machine that a provider lends and does not make, as its last check found it. */
export interface HostStatus {
  readonly pool: string;
  /** Name or address. */
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly labels: readonly string[];
  /** How many jobs it takes at once. */
  readonly slots: number;
  /** `unknown`: it has not been checked; `trusted`: it is taken as it is configured, and never contacted. */
  readonly health: 'up' | 'down' | 'unknown' | 'trusted';
  /** Class of what is wrong in one CamelCase word; `undefined`: nothing. */
  readonly reason: string | undefined;
  /** What is wrong, for people; `undefined`: nothing. */
  readonly message: string | undefined;
  /** When its last check ended, ms since the epoch; `undefined`: there was none. */
  readonly lastCheckMs: number | undefined;
  /** Since when it has been down, ms since the epoch. */
  readonly downSinceMs: number | undefined;
  /** The records of its slots. */
  readonly nodes: readonly NodeRecord[];
}

/** A resource with the provider's tag that no record knows. */
export interface LeakedResource {
  /** As in `Resource`, e.g. `instance`. */
  readonly type: string;
  readonly id: string;
  /** Node that it was made for; `undefined` where its tags name none. */
  readonly nodeId: string | undefined;
  /** When it was found first. */
  readonly sinceMs: number;
  /** Why it could not be deleted; `undefined`: that was not tried yet. */
  readonly error: string | undefined;
}

/** A resource with the provider's tag that is not proven to belong to this database. It is reported and never deleted. */
export interface AlienResource {
  /** As in `Resource`, e.g. `instance`. */
  readonly type: string;
  readonly id: string;
  /** Its name in the cloud; `undefined` where the driver does not say. */
  readonly name: string | undefined;
  /** Node, build and database that its tags name. */
  readonly nodeId: string | undefined;
  readonly buildId: string | undefined;
  readonly databaseId: string | undefined;
  /** When it was made, where the cloud says so; else when it was found first. */
  readonly sinceMs: number;
}

/** An image as a cloud shows it. */
export interface ProviderImage {
  readonly externalId: string;
  readonly name: string;
  /** False while it is being uploaded, and when its upload failed. */
  readonly ready: boolean;
  /** Its tags: see `PROVIDER_TAG`, `BUILD_ID_TAG` and `UPLOAD_ID_TAG`. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** What the fulfilment algorithm tells a provider. All optional. */
export interface ProviderNotifications {
  /** The node's record is gone. */
  nodeDeletedNotification?(node: NodeRecord): void;
  /**
   * The record to create in the same transaction that deletes the given one, so that a slot is never without one.
   * `undefined`: none, or not known without waiting; then use `nodeDeletedNotification`.
   */
  successorOf?(node: NodeRecord): NodeRecord | undefined;
}

/** What a request needs of a driver. Shared fulfilment lives in core; see docs/writing-a-driver.md for the names. */
export interface NodeRequestHandler extends NodeRequestHandlerNotifications {
  /** Images for all requested labels exist. */
  imagesAvailable(): boolean;
  /** Begins making one locked node in state `building`; resolves with the node in its final state. Never rejects. */
  launch?(launch: LaunchOrder, signal: AbortSignal): Promise<LaunchResult>;
  /** Extra condition under which a ready node may serve this request, after core's own. May wait; default true. */
  checkReusableNode?(node: NodeRecord, signal: AbortSignal): boolean | Promise<boolean>;
  /** Cheap test without waiting, e.g. same availability zone. Default true. */
  acceptsNode?(node: NodeRecord): boolean;
  /** Completes a record before it is first stored, e.g. chooses its availability zone. */
  setNodeMetadata?(node: NodeRecord): NodeRecord;
}

/** What the fulfilment algorithm tells a handler. All optional. */
export interface NodeRequestHandlerNotifications {
  /** A ready node was taken for this request. */
  nodeReusedNotification?(node: NodeRecord): void;
  /** `checkReusableNode` said no: the provider may deregister the node. */
  nodeRejectedNotification?(node: NodeRecord): void;
}

/** One node to make. */
export interface LaunchOrder {
  readonly node: NodeRecord;
  readonly label: PoolLabelConfig;
  readonly pool: PoolConfig;
  readonly request: RequestRecord;
  /**
   * Stores changed fields of the node under its lock and returns the new record. Rejects when the lock is lost. What makes
   * the node `ready` is the last to be stored: a request that lacks nothing else gets the node with that write.
   */
  store(changes: Partial<NodeRecord>): Promise<NodeRecord>;
  /**
   * Told of each attempt that failed, the last one included, so that core knows how the provider does. A driver that makes
   * one attempt only need not call it.
   * @returns whether another attempt is wanted here; `false`: another pool shall serve the request, so end with `failed`.
   * Missing: as often as the configuration says, without a pause for lack of capacity (`steering: off`)
   */
  readonly attemptFailed?: ((error: Error) => boolean) | undefined;
  /**
   * Told for each attempt when the cloud has begun to make the instance, so that core knows how long the cloud takes for
   * it, without what the launch waits for on our side, such as `rate`. A driver that does not tell is measured from the
   * beginning of the launch. Missing: it is not counted (`steering: off`).
   */
  readonly created?: (() => void) | undefined;
  /**
   * Told of each stage of an attempt, such as `creating` or `scanning`, and of `cloud-away` while the cloud does not answer, then
   * `waiting`. Timelines show the stages; a driver need not tell them.
   */
  readonly stageBegan?: ((stage: string) => void) | undefined;
}

/** How a launch ended. */
export interface LaunchResult {
  /** `aborted`: no quota; not counted as a failure. */
  readonly state: 'ready' | 'failed' | 'aborted';
  readonly node: NodeRecord;
  readonly error?: Error;
}

/** Numbers that decide whether something fits. All synchronous: a provider refreshes its limits in the background. */
export interface QuotaSupport {
  /** What one node of the label needs, e.g. `{instances: 1, cores: 4, ram: 8192}`. */
  quotaNeededByLabel(label: string, pool: PoolConfig): Resources;
  /**
   * Cloud limits minus use by instances that are not ours; missing names are unlimited. `undefined` while nothing is
   * known yet: requests wait.
   */
  estimatedNodepoolQuota(): Resources | undefined;
  /** Throws away cached limits and fetches them again in the background. */
  invalidateQuotaCache(): void;
}

/** One build to upload to a provider. */
export interface ImageUpload {
  readonly image: string;
  readonly name: string;
  readonly file: string;
  readonly format: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly md5: string | undefined;
  readonly sha256: string | undefined;
  /** Called with the external id, and waited for, before the first byte is sent. A rejection ends the upload. */
  readonly onCreated?: ((externalId: string) => Promise<void>) | undefined;
  /** Called as the upload advances. @param total - in bytes, as is `sent` */
  readonly onProgress?: ((sent: number, total: number) => void) | undefined;
}

/** Id of a node as text for tags and logs. */
export type { NodeId };
