import type { Stat } from '../client/contract/types.js';

declare const brand: unique symbol;
/** A string that is one kind of id. */
export type Branded<T extends string> = string & { readonly [brand]: T };
/** Ten digits, e.g. `0000000042`. */
export type NodeId = Branded<'NodeId'>;
/** `<priority>-<seq10>`, e.g. `200-0000001234`. */
export type RequestId = Branded<'RequestId'>;
/** Id of a pool worker: `<fqdn>-PoolWorker.<provider>-<pool>-<32 hex>`. */
export type LauncherId = Branded<'LauncherId'>;

/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
/** A JSON object. */
export type JsonObject = { [key: string]: Json };

/** Known node states, in display order. */
export const NODE_STATES = [
  'init',
  'building',
  'testing',
  'ready',
  'in-use',
  'used',
  'hold',
  'deleting',
  'failed',
  'aborted',
  'deleted',
] as const;
/** A known node state. Records with other states are kept unchanged. */
export type NodeState = (typeof NODE_STATES)[number];
/** Known request states, in display order. */
export const REQUEST_STATES = ['requested', 'pending', 'fulfilled', 'failed'] as const;
/** A known request state. Records with other states are kept unchanged. */
export type RequestState = (typeof REQUEST_STATES)[number];

/** Amounts by resource name (`instances`, `cores`, `ram` in MiB, `volumes`, `volume-gb`, ...). */
export type Resources = Record<string, number>;

/** Common fields of all records. Records are immutable; the `with…` functions make changed copies. */
export interface RecordBase {
  /** The body as last read, to preserve unknown keys. Empty for a new record. */
  readonly raw: Readonly<JsonObject>;
  /** `undefined` for a record that is not stored yet. */
  readonly stat: Stat | undefined;
}

/** One machine or slot. `null` means "not set", as on the wire. */
export interface NodeRecord extends RecordBase {
  readonly id: NodeId;
  readonly state: NodeState | (string & {});
  readonly stateTimeMs: number;
  readonly createdTimeMs: number | null;
  readonly cloud: string | null;
  readonly provider: string | null;
  readonly pool: string | null;
  /** Labels that the node can serve (`type` on the wire). */
  readonly labels: readonly string[];
  readonly allocatedTo: RequestId | null;
  readonly az: string | null;
  readonly region: string | null;
  readonly publicIpv4: string | null;
  readonly privateIpv4: string | null;
  readonly publicIpv6: string | null;
  readonly hostId: string | null;
  readonly interfaceIp: string | null;
  /** Usually a number; drivers may store any value. */
  readonly connectionPort: Json;
  readonly imageId: string | null;
  readonly launcher: string | null;
  readonly externalId: string | JsonObject | null;
  readonly hostname: string | null;
  readonly comment: string | null;
  readonly userData: Json;
  readonly holdJob: string | null;
  readonly hostKeys: readonly string[];
  readonly username: string | null;
  readonly connectionType: string | null;
  readonly shellType: string | null;
  /** Seconds on the wire. `0` or `null`: no limit. */
  readonly holdExpirationMs: number | null;
  readonly resources: Resources | null;
  readonly slot: number | null;
  readonly attributes: JsonObject | null;
  readonly pythonPath: string | null;
  readonly tenantName: string | null;
  readonly driverData: Json;
  readonly requestor: string | null;
  /** Error of the last launch attempt (`launch_error`, our addition). */
  readonly launchError: string | null;
  /**
   * Progress of the launch (`launch_state`, our addition), from which another launcher can continue it. `null`: none can, or the
   * launch has ended.
   */
  readonly launchState: JsonObject | null;
}

/** Why a pool declined a request (`decline_reasons`, our addition; keyed by launcher id). */
export interface DeclineReason {
  readonly rule: string;
  readonly text: string;
  readonly timeMs: number;
}

/** A request for nodes with a list of labels. */
export interface RequestRecord extends RecordBase {
  readonly id: RequestId;
  readonly state: RequestState | (string & {});
  readonly stateTimeMs: number;
  readonly declinedBy: readonly string[];
  /** Requested labels in order, repeats allowed (`node_types` on the wire). */
  readonly labels: readonly string[];
  /** Node ids in the order of `labels`; set when the request is fulfilled (`nodes` on the wire). */
  readonly nodeIds: readonly NodeId[];
  readonly reuse: boolean;
  readonly requestor: string | null;
  readonly requestorData: Json;
  /** Preferred provider. */
  readonly provider: string | null;
  readonly relativePriority: number;
  readonly eventId: string | null;
  readonly createdTimeMs: number | null;
  readonly tenantName: string | null;
  readonly declineReasons: Readonly<Record<string, DeclineReason>>;
  /** Error of the last launch for this request (`launch_error`, our addition). */
  readonly launchError: string | null;
}

/** Registry entry of a running process or pool. */
export interface ComponentRecord extends RecordBase {
  /** Last part of the path. */
  readonly id: string;
  readonly kind: 'launcher' | 'builder' | 'pool' | (string & {});
  readonly hostname: string;
  readonly state: string;
  readonly version: string | null;
  readonly modelApi: number;
  /** Address of this launcher's web server (`web_url`, our addition). */
  readonly webUrl?: string | null;
  /** Current problems of this service (`conditions`, our addition; defined in `core`). Missing if there are none. */
  readonly conditions?: readonly JsonObject[] | undefined;
}

/**
 * For whom an SSH certificate of a leased node is:
 * - `user`: for its user, on every machine that trusts the CA
 * - `host`: for its user on this machine
 */
export const CERTIFICATE_MODES = ['user', 'host'] as const;
/** One of {@link CERTIFICATE_MODES}. */
export type CertificateMode = (typeof CERTIFICATE_MODES)[number];

/** A running pool worker. Entries below `/nodepool/launchers` are also read as such, with `legacy` set. */
export interface PoolComponentRecord extends ComponentRecord {
  readonly kind: 'pool';
  readonly launcherId: LauncherId;
  readonly name: string;
  readonly providerName: string;
  readonly supportedLabels: readonly string[];
  readonly priority: number;
  readonly paused: boolean;
  readonly legacy: boolean;
  /** `open` if the provider is failing and other pools should be preferred; missing if it is healthy. */
  readonly health?: string | null;
  /**
   * How long the pool leaves a request to the request's first pool, in ms. `0`: it accepts requests at once. Missing: the
   * same, in Nodepool and in releases without that rule.
   */
  readonly firstPoolPauseMs?: number | null;
  /** Why its nodes are not lent over HTTP, with the fix; missing: they are. */
  readonly notLent?: string | null;
}

/** One build of a diskimage. */
export interface BuildRecord extends RecordBase {
  readonly image: string;
  readonly id: string;
  readonly state: 'building' | 'ready' | 'deleting' | 'failed' | (string & {});
  readonly stateTimeMs: number;
  readonly builder: string | null;
  readonly builderId: string | null;
  readonly formats: readonly string[];
  readonly username: string | null;
  readonly pythonPath: string | null;
  readonly shellType: string | null;
}

/** One copy of a build in one provider. */
export interface UploadRecord extends RecordBase {
  readonly image: string;
  readonly buildId: string;
  readonly provider: string;
  readonly id: string;
  readonly state: 'uploading' | 'ready' | 'deleting' | 'failed' | (string & {});
  readonly stateTimeMs: number;
  readonly externalId: string | null;
  readonly externalName: string | null;
  readonly format: string | null;
  readonly username: string | null;
  readonly pythonPath: string | null;
  readonly shellType: string | null;
}
