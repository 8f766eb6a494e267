import type { Json, JsonObject, Resources } from '@nodepool/zk-protocol';

/** What the cloud runs behind a node, as it is seen at one moment. Drivers extend this with what they need themselves. */
export interface Instance {
  /** The cloud's own name for it; the same for the whole life of the instance. */
  readonly externalId: string;
  /** Running and reachable as far as the cloud knows. */
  readonly ready: boolean;
  /** Still listed, but gone for all purposes. */
  readonly deleted: boolean;
  /** The cloud's own word for its state, such as `BUILD (spawning)`; shown when the instance is not ready in time. */
  readonly status?: string | undefined;
  /** Where to reach it; `null` while it has no address; see {@link needsAddress}. */
  readonly interfaceIp: string | null;
  /** The tags it carries. Those given at creation must be found here again. */
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
  /** Login data known better by the instance than by its image. */
  readonly username?: string | null | undefined;
  readonly pythonPath?: string | null | undefined;
  readonly shellType?: string | null | undefined;
  readonly connectionPort?: Json | undefined;
  readonly connectionType?: string | null | undefined;
  /** Host keys known without asking the instance, as `<type> <base64>`. */
  readonly hostKeys?: readonly string[] | undefined;
  /** What a key scan finds must be among `hostKeys`: they are known from elsewhere. Default: the scan has the last word. */
  readonly onlyTheseHostKeys?: boolean | undefined;
  /** Attributes of the node; those of the pool win, key by key. */
  readonly nodeAttributes?: JsonObject | undefined;
  /** What it counts against the quota. Default: one instance. */
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
  /** When the cloud says that it was made. */
  readonly createdMs?: number | undefined;
  /** External id of the instance that it is attached to. It is that of the node if the resource is the node's own. */
  readonly instanceId?: string | undefined;
  /** In use by something that exists: listed so that it can be tagged, but never deleted as leaked. Default: false. */
  readonly inUse?: boolean | undefined;
}

/** Something the cloud said about one instance without being asked. */
export interface InstanceChange<I extends Instance = Instance> {
  readonly externalId: string;
  /** How it is now; `null` when it is gone; missing when it must be looked up. */
  readonly instance?: I | null | undefined;
}

/** What machines see of the instances. One listing serves everybody who waits. */
export interface InstanceView<I extends Instance = Instance> {
  /**
   * The instance as the cloud shows it, never older than the moment at which the machine entered its present state.
   * `undefined`: the cloud does not have it.
   */
  find(externalId: string): Promise<I | undefined>;
  /** All visible instances, ours or not, of the same age. */
  list(): Promise<readonly I[]>;
}

/** Tag that names the node an instance belongs to. */
export const NODE_ID_TAG = 'nodepool_node_id';
/** Tag that names the pool. */
export const POOL_TAG = 'nodepool_pool_name';
/**
 * Tag that holds the random id of the database whose services made the resource: see `ensureDatabaseId`. It alone proves that
 * a resource without a record may be deleted.
 */
export const DATABASE_ID_TAG = 'nodepool_database_id';
/** Tag that names the provider: resources without it, or with another, are never touched. */
export const PROVIDER_TAG = 'nodepool_provider_name';
/** Tags of an uploaded image. */
export const BUILD_ID_TAG = 'nodepool_build_id';
/** See {@link BUILD_ID_TAG}. */
export const UPLOAD_ID_TAG = 'nodepool_upload_id';

/** Connection types of what is reached through the API of a cluster; `connectionPort` holds what that takes. */
const WITHOUT_ADDRESS: ReadonlySet<string> = new Set(['namespace', 'project', 'kubectl']);

/** Whether a node of the connection type must have an address. Namespaces, projects and pods of a cluster need none. */
export function needsAddress(connectionType: string | null | undefined): boolean {
  return !WITHOUT_ADDRESS.has(connectionType ?? 'ssh');
}
