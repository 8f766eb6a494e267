/** Requests of one pool by what happens to them. */
export interface PoolLoad {
  readonly provider: string;
  readonly pool: string;
  /** Requests being worked on. */
  readonly handling: number;
  /** Requests that wait for the pool. */
  readonly waiting: number;
  /** Those being worked on that wait for capacity. */
  readonly paused: number;
  /** Present limit of concurrent launches of the provider, learned from earlier ones; missing: no limit. */
  readonly launchLimit?: number | undefined;
}
