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
  /** Launches of the provider that may be under way at once as far as earlier ones have shown; missing: no limit. */
  readonly launchLimit?: number | undefined;
}
