import type {
  ControlRecord,
  ControlSubject,
  NodeRecord,
  PoolComponentRecord,
  RequestRecord,
  Resources,
} from '@nodepool/zk-protocol';
import type { PoolConfig } from '../../contract/provider-config.js';
import type { SteeringView } from './steering.js';

/** Names of the rules in the order of their application; the first that matches decides. */
export const RULES = [
  'stopping',
  'not-requested',
  'already-declined',
  'yield-to-provider',
  'yield-to-priority',
  'yield-to-first',
  'label-elsewhere',
  'provider-failing',
  'label-quota',
  'tenant-quota',
  'pool-full',
  'paused-by-operator',
  'limited-by-operator',
  'max-concurrency',
  'launch-ramp',
  'pool-disabled',
  'label-disabled',
  'label-unavailable',
  'images-unavailable',
  'exceeds-quota',
  'failed-over',
  'accept',
] as const;
/** Name of a rule. */
export type RuleName = (typeof RULES)[number];

/** Why a rule matched: a sentence for people, the numbers behind it, and a remedy. */
export interface Reason {
  readonly rule: RuleName;
  readonly text: string;
  /** Numbers and names, e.g. `{ label: 'big', needed: 3, available: 1 }`. */
  readonly details: Readonly<Record<string, string | number | boolean | readonly string[]>>;
  /** What would have to change for the request to be served here. */
  readonly remedy: string;
}

/**
 * - `skip` not for this pool, now or ever (not `requested`, already declined, stopping)
 * - `yield` another pool has precedence and may still take it
 * - `defer` ignored without declining: another pool has the label, or a tenant limit is reached
 * - `wait` for this pool, but its nodes or capacity are in use; it keeps its place
 * - `decline` this pool can never serve it
 * - `accept` take it now, with these nodes
 */
export type Verdict =
  | { readonly action: 'skip' | 'yield' | 'defer' | 'decline'; readonly reason: Reason }
  | { readonly action: 'wait'; readonly reason: Reason }
  | { readonly action: 'accept'; readonly reason: Reason; readonly assignment: Assignment };

/** How each label is served, in the order of `request.labels`. */
export interface Assignment {
  readonly parts: readonly AssignmentPart[];
  /** Whether every part has a node or may be launched now. If not, the request holds its nodes and waits. */
  readonly complete: boolean;
  /** The zone that all new nodes of the request share, once chosen. */
  readonly az: string | null;
}

/** How one label is served. */
export interface AssignmentPart {
  readonly label: string;
  /** `node`: take this ready node, or start this stopped one; `launch`: launch one; `wait`: no capacity yet. */
  readonly source: { kind: 'node'; node: NodeRecord } | { kind: 'launch' } | { kind: 'wait' };
}

/** Resources reserved for a request that waits for them. */
export interface Reservation {
  readonly request: RequestRecord;
  readonly need: Resources;
  /** Another launcher serves it from the same pool, so it needs capacity of the pool as well. Default false. */
  readonly isInPool?: boolean | undefined;
}

/** Quota numbers of a pool at one moment. */
export interface QuotaView {
  /** Resources of one node of the label. */
  need(label: string): Resources;
  /** The provider's limits, net of foreign use; `undefined` while unknown. */
  readonly providerTotal: Resources | undefined;
  /** The foreign use that `providerTotal` is net of, as far as it is known. */
  readonly usedByOthers?: Resources | undefined;
  readonly providerUsed: Resources;
  readonly poolUsed: Resources;
  /** Why the cloud last refused a launch for lack of quota. Optional; omit if it did not. */
  readonly refusal?: string | undefined;
  /** That the cloud refuses the credentials, so that limits cannot be read. Optional; omit if it does not. */
  readonly loginRefused?: { readonly message: string; readonly nextStep: string } | undefined;
}

/** The inputs of the rules for one pool; read-only, without I/O. */
export interface PoolView {
  readonly launcherId: string;
  readonly provider: string;
  readonly pool: PoolConfig;
  readonly priority: number;
  readonly stopping: boolean;
  /** The driver launches nodes. */
  readonly launches: boolean;
  /** Requests are accepted while they wait for capacity. */
  readonly pausesAtQuota: boolean;
  /** Of the whole provider; `-1`: no limit. */
  readonly maxConcurrency: number;
  readonly activeLaunches: number;
  /** Limit on concurrent launches of the provider, which launches in time raise. Optional; omit for no limit. */
  readonly launchLimit?: number | undefined;
  readonly errorLabels: ReadonlySet<string>;
  /** Operators' orders in force, for this pool or others. Optional; omit if there are none. */
  readonly controls?: readonly ControlRecord[];
  /** Number of nodes in all pools, including promised ones, that an order about a label or an image counts. */
  countOrdered?(order: ControlSubject): number;
  /** Labels switched off with `min-ready: -1`. */
  readonly disabledLabels: Pick<ReadonlySet<string>, 'has'>;
  /** Registered pools of all launchers, including this one. */
  readonly registered: readonly PoolComponentRecord[];
  /** Whether accepted requests of this pool wait for capacity. */
  readonly paused: boolean;
  labelReady(label: string): boolean;
  /** Free nodes of a label in this pool: ready ones before stopped ones, of each first those whose other labels are requested least, then those idle longest. */
  freeNodes(label: string): Iterable<NodeRecord>;
  /** Whether the driver accepts a free node for the request. Optional; omit if it accepts all. */
  acceptsNode?(request: RequestRecord, node: NodeRecord): boolean;
  /** All free nodes of this pool, those idle longest first. */
  idleNodes(): Iterable<NodeRecord>;
  /**
   * Free nodes of other pools that share the limits of the provider, idle longest first, at most one of each pool; none while
   * a node of these pools is being deleted.
   */
  idleElsewhere?(): Iterable<NodeRecord>;
  /** Whether a node of this pool is being deleted and will soon free capacity. */
  readonly capacityIsComing: boolean;
  /** Reservations for accepted requests of the provider's other pools and of other launchers. */
  readonly foreignReservations: readonly Reservation[];
  /** Reservations for the first waiting request of each of the provider's other pools. */
  readonly waitingElsewhere?: readonly Reservation[];
  /** The maximum number of nodes of the label, e.g. configured slots; `undefined`: not limited by label. */
  labelCapacity(label: string): number | undefined;
  /** Number of nodes of the label in the pool, free or in use. Optional; for pools that launch nothing. */
  presentNodes?(label: string): number;
  /** Whether the pool can ever have a node for each of the labels at once. Optional; omit if it always can. */
  canHold?(labels: readonly string[]): boolean;
  readonly quota: QuotaView;
  /** The health of the provider. Optional; omit if steering is off. */
  readonly steering?: SteeringView | undefined;
  /** Whether the request is new and left to other pools for a moment. Optional; omit if none is. */
  isPausing?(id: RequestRecord['id']): boolean;
  /** The pool that a waiting request is left to for a moment. Optional; omit if none is. */
  leftTo?(request: PlannedRequest): PoolComponentRecord | undefined;
  tenantLimit(tenant: string): Resources | undefined;
  tenantUsed(tenant: string): Resources;
}

/** A waiting request, as far as the plan needs it. */
export type PlannedRequest = Pick<
  RequestRecord,
  | 'id'
  | 'state'
  | 'labels'
  | 'declinedBy'
  | 'reuse'
  | 'requestor'
  | 'provider'
  | 'relativePriority'
  | 'tenantName'
  | 'eventId'
> &
  Partial<Pick<RequestRecord, 'declineReasons'>>;
