import type { Clock } from '@nodepool/zk-protocol';
import type { ComputeDescription } from '../description/description.js';

/** What can go wrong with a call, or with what it makes. */
export type FailureKind =
  | 'quota'
  | 'capacity'
  | 'unavailable'
  | 'error-state'
  | 'never-ready'
  | 'lost-reply'
  | 'rate-limited'
  | 'operation-error';

/** How the fake is set up. */
export interface FakeComputeOptions {
  readonly description: ComputeDescription;
  readonly clock: Clock;
  /** Default: `test-project`. */
  readonly project?: string | undefined;
  /** Zones of each region. Default: `us-central1` with `-a`, `-b`, `-f`. */
  readonly regions?: Readonly<Record<string, readonly string[]>> | undefined;
  /** From the insert until the instance runs. Default 2,000. */
  readonly bootMs?: number | undefined;
  /** From the deletion until the instance is gone. Default 1,000. */
  readonly deleteMs?: number | undefined;
  /** Of each call. Default 0. */
  readonly callMs?: number | undefined;
  /** Time limit of `wait`, ms. Default 120,000, as documented; the service may also answer at once. */
  readonly waitMs?: number | undefined;
  /** Most entries in one answer of a list. Default 500, as documented. */
  readonly pageSize?: number | undefined;
  /** Limits of the region by metric, e.g. `{ INSTANCES: 100 }`. Default: no quotas are shown. */
  readonly quotas?: Readonly<Record<string, number>> | undefined;
  /** The address of an instance. Default: `10.x` and `np1.fake`, which is never contacted. */
  readonly addressOf?: ((name: string) => string) | undefined;
  /** Number in [0, 1), for failures by chance. Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
}
