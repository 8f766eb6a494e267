import type { Json, JsonObject, Resources } from '@nodepool/zk-protocol';

/** The machine in the cloud behind a node, as last observed. Drivers extend it with fields of their own. */
export interface Instance {
  /** Identifier in the cloud; never changes. */
  readonly externalId: string;
  /** The cloud reports it as running. */
  readonly ready: boolean;
  /** Still listed, but already deleted. */
  readonly deleted: boolean;
  /** State in the words of the cloud, such as `BUILD (spawning)`; shown if the instance is not ready in time. */
  readonly status?: string | undefined;
  /**
   * Why an instance that was ready cannot be used any more: a clause for people, such as `the cloud shows it as SHUTOFF`. Report what is
   * stopped, failed, frozen, preempted, evicted, being deleted, or on a host that is gone. Core withdraws ready nodes with such an
   * instance; an instance that is missing or `deleted` needs no reason. Missing: it can be used, is being made, or nothing is known.
   */
  readonly unusable?: string | undefined;
  /** Address for jobs; `null` while it has none; see {@link needsAddress}. */
  readonly interfaceIp: string | null;
  /** Tags of the instance. Must include those given at creation. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly publicIpv4?: string | null | undefined;
  readonly publicIpv6?: string | null | undefined;
  readonly privateIpv4?: string | null | undefined;
  readonly privateIpv6?: string | null | undefined;
  readonly cloud?: string | null | undefined;
  readonly az?: string | null | undefined;
  readonly region?: string | null | undefined;
  readonly hostId?: string | null | undefined;
  /** Kept with the node for the driver. */
  readonly driverData?: Json | undefined;
  readonly slot?: number | null | undefined;
  /** Login data that overrides that of the image. */
  readonly username?: string | null | undefined;
  readonly pythonPath?: string | null | undefined;
  readonly shellType?: string | null | undefined;
  readonly connectionPort?: Json | undefined;
  readonly connectionType?: string | null | undefined;
  /** Host keys known without asking the instance, as `<type> <base64>`. */
  readonly hostKeys?: readonly string[] | undefined;
  /** `hostKeys` are authoritative: a key scan may find no others. Default: the scan decides. */
  readonly onlyTheseHostKeys?: boolean | undefined;
  /** Attributes of the node; those of the pool win, key by key. */
  readonly nodeAttributes?: JsonObject | undefined;
  /** Usage of the quota. Default: one instance. */
  readonly resources?: Resources | undefined;
}

/** Anything taggable in the cloud that can leak: an instance, a volume, an image, a port. */
export interface Resource {
  /** Metric-safe kind, e.g. `instance`. */
  readonly type: string;
  /** Plural of the kind in metric names. Default: the kind with an `s`. */
  readonly pluralMetricName?: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  readonly id: string;
  /** Its name in the cloud, for people. */
  readonly name?: string | undefined;
  /** Creation time, if the cloud reports it. */
  readonly createdMs?: number | undefined;
  /** External id of the instance that it is attached to. For a node's own resource, the instance of that node. */
  readonly instanceId?: string | undefined;
  /** In use by an existing object: it can be tagged, but is never deleted as leaked. Default: false. */
  readonly inUse?: boolean | undefined;
  /**
   * Why the cloud would refuse to delete it in its present state, and what an operator can do. A leak of this kind is not deleted, and
   * reported as one that needs a hand if that lasts.
   */
  readonly blocked?: string | undefined;
}

/** A change of one instance, pushed by the cloud. */
export interface InstanceChange<I extends Instance = Instance> {
  readonly externalId: string;
  /** Present state; `null`: gone; missing: unknown, look it up. */
  readonly instance?: I | null | undefined;
}

/** Access of state machines to instances. All waiting machines share one listing. */
export interface InstanceView<I extends Instance = Instance> {
  /**
   * The instance as the cloud lists it, not older than the machine's present state. `undefined`: it does not exist.
   */
  find(externalId: string): Promise<I | undefined>;
  /** All visible instances, including foreign ones, of the same age. */
  list(): Promise<readonly I[]>;
}

/** Tag with the id of the node. */
export const NODE_ID_TAG = 'nodepool_node_id';
/**
 * Tag with the time at which the record of the node was created, in ms: numbers of nodes repeat after an older copy of the database was
 * restored. Older versions and the original do not write it.
 */
export const NODE_CREATED_TAG = 'nodepool_node_created';
/** Tag with the name of the pool. */
export const POOL_TAG = 'nodepool_pool_name';
/**
 * Tag with the random id of the ZooKeeper database, see `ensureDatabaseId`. Only this tag permits deleting a resource without a
 * record.
 */
export const DATABASE_ID_TAG = 'nodepool_database_id';
/** Tag with the name of the provider. Resources without it, or with another name, are never touched. */
export const PROVIDER_TAG = 'nodepool_provider_name';
/** Tags of an uploaded image. */
export const BUILD_ID_TAG = 'nodepool_build_id';
/** See {@link BUILD_ID_TAG}. */
export const UPLOAD_ID_TAG = 'nodepool_upload_id';

/** Connection types that use the API of a cluster; `connectionPort` has the parameters. */
const WITHOUT_ADDRESS: ReadonlySet<string> = new Set(['namespace', 'project', 'kubectl']);

/** Whether a node of this connection type must have an address. Namespaces, projects and pods of a cluster need none. */
export function needsAddress(connectionType: string | null | undefined): boolean {
  return !WITHOUT_ADDRESS.has(connectionType ?? 'ssh');
}
