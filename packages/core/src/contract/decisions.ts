import type { RequestId, RequestRecord } from '@nodepool/zk-protocol';

/** The pool that decides; the same object each time. */
export interface DecidingPool {
  /** Its id in the registry, which nodes of the pool carry as `launcher`. */
  readonly launcherId: string;
  readonly provider: string;
  readonly pool: { readonly name: string };
}

/** Why something was decided: the name of a rule, and a sentence for people. */
export interface DecisionReason {
  readonly rule: string;
  readonly text: string;
}

/** What a pool does with a request that it does not put into its queue. */
export type LeftAlone = 'skip' | 'yield' | 'defer' | 'decline' | 'wait' | 'accept';

/** Why requests wait, after a planning pass. */
export interface PlannedWaits {
  /** The first request of each group that waits. */
  readonly waiting: readonly {
    readonly request: RequestRecord;
    readonly group: string;
    readonly reason: DecisionReason;
  }[];
  /** Accepted requests that wait for capacity. */
  readonly paused: readonly { readonly request: RequestRecord; readonly reason: DecisionReason }[];
}

/**
 * Is told what pools decide while they decide it, for instance to keep it on record. Called on the way of each request:
 * every method is cheap, does no I/O, and none throws.
 */
export interface DecisionListener {
  /** The pool begins to serve requests, or will in a moment. */
  opened(pool: DecidingPool): void;
  /** The request is in the pool's queue. Requests of one group want the same: what the first one waits for, all wait for. */
  queued(pool: DecidingPool, request: RequestRecord, group: string): void;
  /** The pool leaves the request to others, or declines it. Told again whenever it is judged again. */
  leftAlone(pool: DecidingPool, request: RequestRecord, action: LeftAlone, reason: DecisionReason): void;
  /** Its work on the request begins. */
  taken(pool: DecidingPool, id: RequestId): void;
  /** A planning pass is over. */
  planned(pool: DecidingPool, waits: PlannedWaits): void;
  /** The pool plans nothing at the moment. */
  resting(pool: DecidingPool): void;
  /** The pool ends; it waits for no request any more. */
  closed(pool: DecidingPool): void;
}
