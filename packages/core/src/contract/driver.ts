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
  Stat,
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

/** Capabilities of a driver. They decide which parts of the contract, and of its test kit, apply. */
export interface DriverCapabilities {
  /** Makes nodes on request. `false`: it hands out only nodes that it has registered (static). */
  readonly launches: boolean;
  /** A request that does not fit now is accepted and waits holding its nodes. `false`: it waits unaccepted. */
  readonly pausesAtQuota: boolean;
  /** The builder uploads images to its providers. */
  readonly managesImages: boolean;
  /**
   * Core limits concurrent launches by their duration. Default: true. Set `false` if a launch is only a part of a
   * machine, or waits for another provider.
   */
  readonly rampsLaunches?: boolean | undefined;
  /**
   * Its providers work on ZooKeeper records only: they call no cloud, and contact hosts only to scan host keys. `nodepool replay`
   * runs such a driver as it is and simulates the machines of all others. Default: false.
   */
  readonly recordsOnly?: boolean | undefined;
  /**
   * A launch continues after its launcher died: see {@link LaunchOrder.isResumed}. Default: false, its node is deleted and another
   * one is launched.
   */
  readonly resumes?: boolean | undefined;
  /**
   * Its providers stop nodes and start them again: see {@link Provider.stopNode}. Needs `resumes`. Default: false, labels with
   * `keep: stopped` cannot be used.
   */
  readonly stops?: boolean | undefined;
}

/**
 * The object that a driver package exports as `driver`. Importing the package must have no other effect. One object serves all
 * providers of the driver until the process ends.
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
   * Report errors that the schema cannot express through `context.problem`. Must not throw for bad input.
   */
  getProviderConfig(entry: JsonObject, context: ProviderConfigContext): ProviderConfig;
  /** Makes the object of a new or changed provider. Must not do I/O; do that in `start`. */
  getProvider(config: ProviderConfig, context: ProviderContext): Provider;
  /** Checks across all providers of this driver, e.g. identities that must be unique in the file. */
  checkAll?(configs: readonly ProviderConfig[], problem: ProblemReporter): void;
  /**
   * Asks the cloud what the account of a provider may not do, and what that costs, for `nodepool config-validate --check-access`.
   * `undefined`, and a rejection: it is not known. Missing: the driver does not ask.
   */
  missingRights?(
    config: ProviderConfig,
    context: Pick<ProviderContext, 'clock' | 'logger'> & { readonly signal: AbortSignal },
  ): Promise<readonly { readonly right: string; readonly cost: string }[] | undefined>;
  /**
   * Predicts which nodes a changed configuration would register or delete, for `nodepool plan`. Must not do I/O. Omit it if a
   * changed configuration leaves existing nodes unchanged.
   * @param config - from `getProviderConfig`; without pools if the provider leaves the configuration
   * @param nodes - nodes of the provider
   * @param all - nodes of all providers
   */
  previewChange?(config: ProviderConfig, nodes: readonly NodeRecord[], all: readonly NodeRecord[]): ChangePreview;
}

/** Nodes that a changed configuration would register or delete without a request. */
export interface ChangePreview {
  /** `what`: for example the host of the nodes. */
  readonly register: readonly { readonly what: string; readonly labels: readonly string[]; readonly count: number }[];
  readonly delete: readonly { readonly node: NodeId; readonly why: string }[];
  /** All other nodes stay unchanged. Default: unknown. */
  readonly leavesOthers?: boolean;
}

/** @param path - keys below the provider entry, e.g. `['pools', 0, 'nodes', 2, 'name']` */
export type ProblemReporter = (
  provider: string,
  path: readonly (string | number)[],
  message: string,
  severity?: ConfigProblem['severity'],
) => void;

/** The configuration around a provider entry, which the driver checks it against. */
export interface ProviderConfigContext {
  readonly labels: ReadonlyMap<string, LabelConfig>;
  readonly diskimages: ReadonlyMap<string, DiskimageConfig>;
  /** Environment of the process, e.g. for `OS_CLIENT_CONFIG_FILE`. Default: empty. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** State directory of the service (`--state-dir`). Default: the default of this user. */
  readonly stateDir?: string | undefined;
  /** Reports a problem at a path within this provider entry. */
  problem(path: readonly (string | number)[], message: string, severity?: ConfigProblem['severity']): void;
}

/** Services that core gives to a provider. They live as long as the launcher. */
export interface ProviderContext {
  readonly zk: ZooKeeper;
  /**
   * Random id of the ZooKeeper database. Tag every resource with it ({@link DATABASE_ID_TAG}): resources without a record are
   * deleted only if they carry it. `undefined` in a command on a database without an id; then nothing may be deleted.
   * Read it at each use: it changes while the launcher runs when ZooKeeper serves another database.
   */
  readonly databaseId: string | undefined;
  readonly clock: Clock;
  /** The time that all launchers agree about, whatever their clocks and that of the server say. Missing in commands and builders. */
  readonly agreedNow?: (() => number) | undefined;
  /** When a record was made, by that time. Missing in commands and builders. */
  readonly madeMs?: ((record: Pick<Stat, 'czxid' | 'ctime'>) => number) | undefined;
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
  /** Triggers an evaluation of waiting requests. Call it when capacity appeared and no node record has changed. */
  capacityChanged(pool?: string): void;
  /**
   * Deletes a ready or stopped, unallocated node of this provider whose instance is gone or will be soon, so that no job gets it. Nodes in
   * use are left to their users. Missing in commands and builders, which serve no requests.
   * @param why - for people; stored as the comment of the record
   * @returns whether the node was withdrawn
   */
  withdrawNode?(id: NodeId, why: string): Promise<boolean>;
  /**
   * Replaces what users of a held, unlocked node of this provider log in with, before it ends. Missing in commands and builders.
   * @returns whether it was replaced
   */
  renewLogin?(id: NodeId, connectionPort: NodeRecord['connectionPort']): Promise<boolean>;
  /**
   * The machine of a node of this provider that is not free cannot be used any more. A request that waits for other nodes gets another
   * in its place; a node in use is left to its user. Providers whose nodes are parts of it learn of it. Repeat it for as long as it is
   * so. Missing in commands and builders.
   */
  nodeUnusable?(id: NodeId, why: string): void;
  /** Calls the listener with what any provider of this launcher says in `nodeUnusable`. @returns a function that removes it */
  onNodeUnusable?(listener: (id: NodeId, why: string) => void): () => void;
  /**
   * Reports the result of a list call, so that core knows the API health while nothing is launched. Optional; omitted if the
   * host does not track API health. @param error - why the call failed; `undefined`: it succeeded
   */
  apiAnswered?(error: Error | undefined): void;
  /** Whether the zone has recently lacked capacity for the label, so that another zone is preferred. Missing: no. */
  avoidsZone?(zone: string, label: string): boolean;
  /** Random number in [0, 1). */
  readonly random: () => number;
  /** Counts launches, deletions and calls. */
  readonly metrics?: OperationMetrics | undefined;
  /** Uploaded images. Missing where their records are not watched; then labels with a `diskimage` cannot be launched. */
  readonly images?: ImageSource | undefined;
  /**
   * Aborted when the launcher accepts no more requests for the provider, because it left the configuration or the launcher stops.
   * Running launches may finish. A launch that waits for another provider should end `aborted`, so that its request returns to
   * the queue. A provider that left the configuration still deletes its nodes; `stop` is called after the last one.
   */
  readonly closing?: AbortSignal | undefined;
}

/** A running provider. */
export interface Provider extends ProviderNotifications {
  readonly config: ProviderConfig;
  /**
   * Starts background work. Called once after construction, also if the object replaces one with an older configuration.
   * After a rejection core leaves the provider out and retries with back-off.
   */
  start(signal: AbortSignal): Promise<void>;
  /**
   * Prepares for `uploadImage`, `deleteImage` and `listImages` only. Builders and commands call it instead of `start`, and retry
   * at the next use after a rejection. Omit it if no preparation is needed.
   */
  startImages?(signal: AbortSignal): Promise<void>;
  /**
   * An operator has reloaded the configuration, and this provider stays: what was read from the cloud, such as limits and images, is
   * read again. Must not block.
   */
  refresh?(): void;
  /** Stops periodic actions that could disturb a successor. */
  idle(): void;
  /** Accepts no new tasks; running tasks may finish. Must not block. */
  stop(): void;
  /** Resolves when all work has ended. Called after `stop`. */
  join(): Promise<void>;
  /** False while a prerequisite of the label, such as its cloud image, is missing. Quota is not a prerequisite. */
  labelReady(pool: string, label: string): boolean;
  /** Creates a handler for one request in one pool. */
  getRequestHandler(pool: PoolConfig, request: RequestRecord): NodeRequestHandler;
  /**
   * Removes all resources of a locked node in state `deleting`. Must be idempotent; missing resources count as removed. Resolves
   * when they are gone; `undefined`: there is nothing to remove.
   */
  startNodeCleanup(node: NodeRecord, signal: AbortSignal): Promise<void> | undefined;
  /**
   * Stops the instance of a locked free node, which is started again by a launch that continues ({@link LaunchOrder.isResumed})
   * with its address perhaps changed and its host keys unchanged. Must be idempotent. For drivers that declare `stops`.
   * @returns the progress of a launch whose next step is the start, to store as `launchState`, once the instance has stopped
   * @throws {NotFoundError} it is gone
   */
  stopNode?(node: NodeRecord, signal: AbortSignal): Promise<JsonObject>;
  /**
   * Whether the node has resources that `startNodeCleanup` removes. Default: it has an external id. For drivers that keep their
   * machines (static) the answer is no, and core deletes the record in one step.
   */
  ownsResource?(node: NodeRecord): boolean;
  /** Maximum number of nodes of the label in the pool, if it is fixed, for example by configured slots. */
  labelCapacity?(pool: string, label: string): number | undefined;
  /**
   * Whether the pool can ever have a node for each of these labels at once. For drivers whose nodes serve several labels: there
   * may be enough nodes for each label, but not for all of them together. Default: yes.
   */
  canHold?(pool: string, labels: readonly string[]): boolean;
  /**
   * Reasons why the pool has fewer nodes of the label than it could, for people. One sentence each with the affected object,
   * such as `host1 port 22: the name has no address`. Called when an operator asks why a request waits.
   */
  blockers?(pool: string, label: string): readonly string[];
  /**
   * Current problems that only the driver knows: a missing flavor, image or network, an unreachable host, a refused login. Called
   * every few seconds, so answer from memory without calling the cloud, and omit problems that are resolved. `lastSeenMs`: when
   * the problem was last observed.
   */
  conditions?(): readonly FoundCondition[];
  /** Existing nodes whose machine cannot be used any more, for people. From memory. Missing: not reported. */
  unusableNodes?(): readonly UnusableNode[];
  /** Machines that the provider lends, for drivers that do not make them. From memory. Missing: none. */
  hosts?(): readonly HostStatus[];
  /**
   * Deletes resources that carry the tags of this provider and this database and have no record. Called at start and every
   * minute. Must not delete resources with another database id, or without one.
   */
  cleanupLeakedResources(signal: AbortSignal): Promise<void>;
  /**
   * Leaked resources that the last clean-up found and that still exist, for people. From memory. Missing: not reported.
   */
  leakedResources?(): readonly LeakedResource[];
  /**
   * Resources that carry the provider's tag without the id of this database, and have no record in it, as the last clean-up found
   * them. From memory. Missing: not reported.
   */
  alienResources?(): readonly AlienResource[];
  /** All taggable resources of the cloud, for `nodepool adopt`. Missing: only images can be adopted. */
  listResources?(signal: AbortSignal): Promise<readonly Resource[]>;
  /**
   * Adds tags to an existing resource and keeps its other tags. Core adds the database id to resources of existing records after
   * an upgrade, and for `nodepool adopt`. Missing: resources keep their tags.
   */
  tagResource?(resource: Resource, tags: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void>;
  /** Labels that are permanently unusable. */
  errorLabels(): ReadonlySet<string>;
  /** Quota of the provider; missing for drivers without quota. */
  readonly quota?: QuotaSupport;
  /**
   * Uploads an image, for builders. Once `onCreated` has resolved, the image belongs to the record that has its id: after a failure
   * or an abort the driver leaves it, as another builder may have continued the upload meanwhile.
   * @returns the external id, after the upload is complete
   */
  uploadImage?(upload: ImageUpload, signal: AbortSignal): Promise<string>;
  /** Deletes an uploaded image. A missing image counts as deleted; core retries after a rejection. */
  deleteImage?(externalId: string, signal: AbortSignal): Promise<void>;
  /** Images that carry the provider's tag, complete or not; with `all`, all images that the cloud lists. */
  listImages?(signal: AbortSignal, options?: { readonly all?: boolean | undefined }): Promise<readonly ProviderImage[]>;
}

/** A node whose machine cannot be used any more. */
export interface UnusableNode {
  readonly nodeId: NodeId;
  /** A clause for people. */
  readonly why: string;
  readonly sinceMs: number;
  readonly lastSeenMs: number;
}

/** A machine that a provider lends, with the result of its last check. */
export interface HostStatus {
  readonly pool: string;
  /** Name or address. */
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly labels: readonly string[];
  /** Number of concurrent jobs. */
  readonly slots: number;
  /** `unknown`: not checked yet; `trusted`: never checked, by configuration. */
  readonly health: 'up' | 'down' | 'unknown' | 'trusted';
  /** Class of the problem in one CamelCase word; `undefined`: no problem. */
  readonly reason: string | undefined;
  /** The problem, for people; `undefined`: no problem. */
  readonly message: string | undefined;
  /** End of the last check, ms since the epoch; `undefined`: not checked yet. */
  readonly lastCheckMs: number | undefined;
  /** Start of the present outage, ms since the epoch. */
  readonly downSinceMs: number | undefined;
  /** The records of its slots. */
  readonly nodes: readonly NodeRecord[];
}

/** A resource with the provider's tag and without a record. */
export interface LeakedResource {
  /** As in `Resource`, e.g. `instance`. */
  readonly type: string;
  readonly id: string;
  /** Node that it was made for; `undefined` if its tags name none. */
  readonly nodeId: string | undefined;
  /** When it was found first. */
  readonly sinceMs: number;
  /** Why the last deletion failed; `undefined`: not tried yet. */
  readonly error: string | undefined;
  /** Not deleted, as the database was emptied or replaced while the service runs. Default: false. */
  readonly isOfReplacedDatabase?: boolean | undefined;
}

/** A resource with the provider's tag and without proof that it belongs to this database. It is reported and never deleted. */
export interface AlienResource {
  /** As in `Resource`, e.g. `instance`. */
  readonly type: string;
  readonly id: string;
  /** Name in the cloud; `undefined` if the driver does not report it. */
  readonly name: string | undefined;
  /** Node, build and database that its tags name. */
  readonly nodeId: string | undefined;
  readonly buildId: string | undefined;
  readonly databaseId: string | undefined;
  /** Creation time, if the cloud reports it; otherwise when it was first found. */
  readonly sinceMs: number;
}

/** An image in a cloud. */
export interface ProviderImage {
  readonly externalId: string;
  readonly name: string;
  /** The cloud has all data, as they were sent: a builder takes the image for an upload that another one began. */
  readonly ready: boolean;
  /** Not ready yet, but perhaps without more data from the builder: the cloud is still reading or converting them. Default: false. */
  readonly importing?: boolean | undefined;
  /** Its tags: see `PROVIDER_TAG`, `BUILD_ID_TAG` and `UPLOAD_ID_TAG`. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** Notifications from core to a provider. All optional. */
export interface ProviderNotifications {
  /** The node's record is gone. */
  nodeDeletedNotification?(node: NodeRecord): void;
  /**
   * The record to create in the transaction that deletes the given one, so that a slot always has a record. `undefined`: none, or
   * not known synchronously; then use `nodeDeletedNotification`.
   */
  successorOf?(node: NodeRecord): NodeRecord | undefined;
}

/** The driver's part in serving one request. Core does the rest; see docs/driver-reference.md. */
export interface NodeRequestHandler extends NodeRequestHandlerNotifications {
  /** Images for all requested labels exist. */
  imagesAvailable(): boolean;
  /** Makes one locked node in state `building`. Resolves with the node in its final state; must not reject. */
  launch?(launch: LaunchOrder, signal: AbortSignal): Promise<LaunchResult>;
  /** Additional condition for reusing a ready node, after core's own. May wait. Default: true. */
  checkReusableNode?(node: NodeRecord, signal: AbortSignal): boolean | Promise<boolean>;
  /** Synchronous condition for reusing a ready node, for example the same availability zone. Default: true. */
  acceptsNode?(node: NodeRecord): boolean;
  /** Completes a record before it is first stored, for example with an availability zone. */
  setNodeMetadata?(node: NodeRecord): NodeRecord;
}

/** Notifications from core to a request handler. All optional. */
export interface NodeRequestHandlerNotifications {
  /** A ready node was allocated to this request. */
  nodeReusedNotification?(node: NodeRecord): void;
  /** `checkReusableNode` returned false; the provider may deregister the node. */
  nodeRejectedNotification?(node: NodeRecord): void;
}

/** One node to make. */
export interface LaunchOrder {
  readonly node: NodeRecord;
  /**
   * A launcher that is gone began this launch: continue it from `node.launchState`, and keep its deadline. Only for drivers that
   * declare `resumes`.
   */
  readonly isResumed?: boolean | undefined;
  readonly label: PoolLabelConfig;
  readonly pool: PoolConfig;
  readonly request: RequestRecord;
  /**
   * Stores changed fields of the node under its lock and returns the new record. Rejects if the lock is lost. Store the state
   * `ready` last: the same write fulfils a request that only lacks this node.
   */
  store(changes: Partial<NodeRecord>): Promise<NodeRecord>;
  /**
   * Runs a call that orders an instance, until its external id is stored. A launcher that leaves its work to others waits a short time
   * for these, and begins no more: then the promise rejects at the abort of the launch. State machines need not call it.
   */
  readonly ordering?: (<T>(order: () => Promise<T>, signal: AbortSignal) => Promise<T>) | undefined;
  /**
   * Call it after each failed attempt, the last one included, so that core can track the health of the provider. Not needed if
   * the driver makes only one attempt.
   * @returns whether to try again here; `false`: another pool will serve the request, so end with `failed`. Missing: try as often
   * as configured (`steering: off`)
   */
  readonly attemptFailed?: ((error: Error) => boolean) | undefined;
  /**
   * Call it when the cloud starts to create the instance, once per attempt, so that core measures the duration without our own
   * waits, such as `rate`. Without the call core measures from the start of the launch. Missing: not measured (`steering: off`).
   */
  readonly created?: (() => void) | undefined;
  /**
   * Call it at each stage of an attempt, such as `creating` or `scanning`; `cloud-away` while the cloud does not answer, then
   * `waiting`. Optional; timelines show the stages.
   */
  readonly stageBegan?: ((stage: string) => void) | undefined;
  /**
   * Fires when the request was withdrawn and no other needs the node: end the launch soon with `failed`, and store the external id of
   * what it has made, which is deleted with the node. Optional; without it the launch is completed, and the node is free.
   */
  readonly unwanted?: AbortSignal | undefined;
}

/** How a launch ended. */
export interface LaunchResult {
  /** `aborted`: no quota, or not wanted any more; not counted as a failure. */
  readonly state: 'ready' | 'failed' | 'aborted';
  readonly node: NodeRecord;
  readonly error?: Error;
}

/** Needs and limits that decide whether a node fits. All synchronous: a provider refreshes its limits in the background. */
export interface QuotaSupport {
  /** What one node of the label needs, e.g. `{instances: 1, cores: 4, ram: 8192}`. */
  quotaNeededByLabel(label: string, pool: PoolConfig): Resources;
  /**
   * Limits of the cloud minus the usage by foreign instances; missing names are unlimited. `undefined` while the limits are
   * unknown; requests wait.
   */
  estimatedNodepoolQuota(): Resources | undefined;
  /**
   * The usage by foreign instances that {@link estimatedNodepoolQuota} has subtracted. A request that only this prevents waits
   * for its end. Optional: without it such a request is declined.
   */
  unmanagedQuotaUsed?(): Resources;
  /** Discards cached limits and fetches them again in the background. */
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
  /** Call it with the external id, and await it, before sending the first byte. A rejection ends the upload. */
  readonly onCreated?: ((externalId: string) => Promise<void>) | undefined;
  /** Call it as the upload advances, with byte counts. */
  readonly onProgress?: ((sent: number, total: number) => void) | undefined;
}

/** Id of a node as text for tags and logs. */
export type { NodeId };
