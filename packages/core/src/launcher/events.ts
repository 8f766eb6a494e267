import type { NodeId, RequestId, RequestRecord } from '@nodepool/zk-protocol';
import type { RequestOutcome } from '../contract/request-outcome.js';

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

/** Requests that wait after a planning pass, and why. */
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

/** The events of a launcher by name, with the data of each. */
export interface LauncherEventMap {
  /** The pool serves requests as soon as it is registered. */
  readonly poolOpened: { readonly pool: DecidingPool };
  /** A planning pass is over. */
  readonly poolPlanned: PlannedWaits & { readonly pool: DecidingPool };
  /** The pool has requests, but cannot plan at the moment. */
  readonly poolRested: { readonly pool: DecidingPool };
  /** The pool ends; its queue is empty. */
  readonly poolClosed: { readonly pool: DecidingPool };
  /** The request is in the pool's queue. Requests of one group ask for the same, so all wait for what the first one waits for. */
  readonly requestQueued: {
    readonly pool: DecidingPool;
    readonly request: RequestRecord;
    readonly group: string;
  };
  /** The pool does not queue the request. Emitted whenever the request is judged again. */
  readonly requestNotQueued: {
    readonly pool: DecidingPool;
    readonly request: RequestRecord;
    readonly action: 'skip' | 'yield' | 'defer' | 'decline' | 'wait' | 'accept';
    readonly reason: DecisionReason;
  };
  /** The pool begins its work on the request. */
  readonly requestTaken: { readonly pool: DecidingPool; readonly id: RequestId };
  /** A pool has ended its work on the request. */
  readonly requestEnded: {
    readonly outcome: RequestOutcome;
    readonly request: RequestRecord;
    readonly provider: string;
    /** Name of the pool. */
    readonly pool: string;
  };
  /** The launch of a node has begun another stage of an attempt. */
  readonly launchStageBegan: { readonly node: NodeId; readonly stage: string };
}

/** What happens in a launcher, for those who keep it on record, count it or show it. */
export class LauncherEvents {
  readonly #listeners = new Map<keyof LauncherEventMap, Set<(event: never) => void>>();

  /**
   * Calls the listener at each event of this name, while the pool works: it must be cheap, do no I/O and never throw.
   * @returns ends it
   */
  on<Name extends keyof LauncherEventMap>(name: Name, listener: (event: LauncherEventMap[Name]) => void): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  emit<Name extends keyof LauncherEventMap>(name: Name, event: LauncherEventMap[Name]): void {
    for (const listener of this.#listeners.get(name) ?? []) listener(event as never);
  }
}
