import type { Clock } from '@nodepool/zk-protocol';
import type { ComputeDescription } from '../description/description.js';

/** Failures of calls and of created resources. */
export type FailureKind =
  | 'quota'
  | 'capacity'
  | 'unavailable'
  | 'error-state'
  | 'never-ready'
  | 'lost-reply'
  | 'rate-limited'
  | 'operation-error';

/** Options of the fake. */
export interface FakeComputeOptions {
  readonly description: ComputeDescription;
  readonly clock: Clock;
  /** Default: `test-project`. */
  readonly project?: string | undefined;
  /** Zones of each region. Default: `us-central1` with `-a`, `-b`, `-f`. */
  readonly regions?: Readonly<Record<string, readonly string[]>> | undefined;
  /** Time from the insert until the instance runs; a start takes half of it. Default 2,000. */
  readonly bootMs?: number | undefined;
  /** Time from the deletion request until the instance is gone, and to stop one. Default 1,000. */
  readonly deleteMs?: number | undefined;
  /** Latency of each call. Default 0. */
  readonly callMs?: number | undefined;
  /** Time limit of `wait`, ms. Default 120,000, as documented; the service may also answer at once. */
  readonly waitMs?: number | undefined;
  /** Maximum page size of lists. Default 500, as documented. */
  readonly pageSize?: number | undefined;
  /** Limits of the region by metric, e.g. `{ INSTANCES: 100 }`. Default: no quotas. */
  readonly quotas?: Readonly<Record<string, number>> | undefined;
  /** Address of an instance. Default: `10.x` and `np1.fake`, which is never contacted. */
  readonly addressOf?: ((name: string) => string) | undefined;
  /** Number in [0, 1) for random failures. Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
}
