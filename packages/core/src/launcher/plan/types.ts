import type {
  ControlRecord,
  ControlSubject,
  NodeRecord,
  PoolComponentRecord,
  RequestRecord,
  Resources,
} from '@nodepool/zk-protocol';
import type { PoolConfig } from '../../contract/provider-config.js';
import type { SteeringView } from '../health/provider-steering.js';

/** Names of the rules, in the order they are applied; the first that matches decides. */
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

/** Why a rule matched: a sentence for people, the numbers behind it, and who could change it. */
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
 * - `yield` another pool is preferred and may still take it
 * - `defer` ignored without declining: another pool has the label, or a tenant limit is reached
 * - `wait` for this pool, but what it needs is in use; it keeps its place
 * - `decline` this pool can never serve it
 * - `accept` take it now, with these nodes
 */
export type Verdict =
  | { readonly action: 'skip' | 'yield' | 'defer' | 'decline'; readonly reason: Reason }
  | { readonly action: 'wait'; readonly reason: Reason }
  | { readonly action: 'accept'; readonly reason: Reason; readonly assignment: Assignment };

/** How each wanted label is served, in the order of `request.labels`. */
export interface Assignment {
  readonly parts: readonly AssignmentPart[];
  /** True when every part has a node or may be launched now; false: accepted, waits holding what it got. */
  readonly complete: boolean;
  /** Zone all new nodes of this request share, once one is chosen. */
  readonly az: string | null;
}

/** How one wanted label is served. */
export interface AssignmentPart {
  readonly label: string;
  /** `node`: take this ready one; `launch`: make one; `wait`: nothing free yet. */
  readonly source: { kind: 'node'; node: NodeRecord } | { kind: 'launch' } | { kind: 'wait' };
}

/** Resources kept for an accepted request that waits for them elsewhere. */
export interface Reservation {
  readonly request: RequestRecord;
  readonly need: Resources;
  /** Another launcher serves it from this very pool, so it needs capacity there as well. Default false. */
  readonly isInPool?: boolean | undefined;
}

/** Quota numbers of a pool at one moment. */
export interface QuotaView {
  /** Need of one node of the label. */
  need(label: string): Resources;
  /** Provider's limits without foreign use; `undefined` while unknown. */
  readonly providerTotal: Resources | undefined;
  readonly providerUsed: Resources;
  readonly poolUsed: Resources;
}

/** Everything the rules look at for one pool; read-only, cheap to make, no I/O behind it. */
export interface PoolView {
  readonly launcherId: string;
  readonly provider: string;
  readonly pool: PoolConfig;
  readonly priority: number;
  readonly stopping: boolean;
  /** The driver makes nodes. */
  readonly launches: boolean;
  /** The driver's requests are accepted while they wait for capacity. */
  readonly pausesAtQuota: boolean;
  /** Provider-wide; `-1` no limit. */
  readonly maxConcurrency: number;
  readonly activeLaunches: number;
  /** Launches of the provider that may be under way at once as far as earlier ones have shown. Missing: no limit. */
  readonly launchLimit?: number | undefined;
  readonly errorLabels: ReadonlySet<string>;
  /** Orders of operators that are in force, about this pool or others. Missing: none. */
  readonly controls?: readonly ControlRecord[];
  /** Nodes, in all pools, that are there or about to be made and that an order about a label or an image counts. */
  countOrdered?(order: ControlSubject): number;
  /** Labels switched off with `min-ready: -1`. */
  readonly disabledLabels: Pick<ReadonlySet<string>, 'has'>;
  /** Registered pools of all launchers, this one included. */
  readonly registered: readonly PoolComponentRecord[];
  /** Requests accepted by this pool that wait for capacity, whose place comes first. */
  readonly paused: boolean;
  labelReady(label: string): boolean;
  /** Free ready nodes of a label in this pool: first those whose other labels are asked for least, then those idle longest. */
  freeNodes(label: string): Iterable<NodeRecord>;
  /** Whether the driver would have a free node serve the request. Missing: it is not asked. */
  acceptsNode?(request: RequestRecord, node: NodeRecord): boolean;
  /** All free ready nodes of this pool, the one idle longest first. */
  idleNodes(): Iterable<NodeRecord>;
  /**
   * Free nodes of other pools that use the same limits of the provider, idle longest first, at most one for each pool; none
   * while one of them is being deleted.
   */
  idleElsewhere?(): Iterable<NodeRecord>;
  /** A node of this pool is on its way out and will soon free capacity. */
  readonly capacityIsComing: boolean;
  /** What accepted requests of other pools of this provider wait for. */
  readonly foreignReservations: readonly Reservation[];
  /**
   * The first request of each other pool of the provider that waits for capacity of the provider; it gets the capacity
   * before all behind it.
   */
  readonly waitingElsewhere?: readonly Reservation[];
  /** How many nodes of the label can exist at the most, e.g. configured slots; `undefined`: not limited by label. */
  labelCapacity(label: string): number | undefined;
  /** How many nodes of the label the pool has now, free or in use; missing: not known. For pools that launch nothing. */
  presentNodes?(label: string): number;
  /** Whether the pool can ever have a node for each of the labels at once; missing: not limited in this way. */
  canHold?(labels: readonly string[]): boolean;
  readonly quota: QuotaView;
  /** What launches have shown of the provider; missing: it is not steered around. */
  readonly steering?: SteeringView | undefined;
  /** The request has just come, and is left to others for a moment. Missing: none is. */
  isPausing?(id: RequestRecord['id']): boolean;
  /** The pool that a waiting request is left to for a moment; missing: none. */
  leftTo?(request: PlannedRequest): PoolComponentRecord | undefined;
  tenantLimit(tenant: string): Resources | undefined;
  tenantUsed(tenant: string): Resources;
}

/** A waiting request as the plan sees it. */
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
