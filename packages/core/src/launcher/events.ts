import type { NodeId, RequestId, RequestRecord, Resources } from '@nodepool/zk-protocol';
import type { Provider } from '../contract/driver.js';
import type { EndedWork } from '../contract/request-outcome.js';

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

/** The launch of one node; the same object in all its events. */
export interface Launch {
  readonly provider: string;
  /** Name of the pool. */
  readonly pool: string;
  readonly label: string;
  readonly request: RequestId;
  /** What its node will use. */
  readonly need: Resources;
}

/**
 * What went wrong outside of any call: a promise that nothing waited for was rejected, a timer's or an emitter's
 * listener threw.
 */
export type FaultKind = 'unhandled rejection' | 'uncaught exception';

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
  readonly requestEnded: EndedWork;
  /** A launch is decided on. */
  readonly launchBegun: { readonly launch: Launch };
  /** The record of its node is stored. `zone`: of the node; `null`: the cloud chooses. */
  readonly launchPlaced: { readonly launch: Launch; readonly zone: string | null };
  /** The cloud has begun to make the instance of an attempt: from here the time it takes counts. */
  readonly instanceCreated: { readonly launch: Launch };
  /** An attempt has failed, perhaps the last one. */
  readonly attemptFailed: { readonly launch: Launch; readonly error: Error };
  /** It is over. `state` is `undefined` when the driver was never asked. */
  readonly launchEnded: { readonly launch: Launch; readonly state: 'ready' | 'failed' | 'aborted' | undefined };
  /** A provider or one of its labels fails, is slow, is well again, or it is time for a probe. */
  readonly healthChanged: { readonly provider: string };
  /** A launch of a provider that fails has ended or is late: nothing may be under way that would tell. */
  readonly probeSettled: { readonly provider: string };
  /** Capacity appeared or went that no record shows. `pool` is `undefined`: in all pools of the provider. */
  readonly capacityChanged: { readonly provider: string; readonly pool: string | undefined };
  /** A pool waits for less of its provider: other pools of that provider may have it now. */
  readonly capacityFreed: { readonly provider: string; readonly pool: string };
  /** A tenant uses less: its waiting requests may be served. */
  readonly tenantCapacityFreed: { readonly tenant: string };
  /** A node of the label is gone, or will not be made: requests that an order about the label keeps waiting may be served. */
  readonly labelCapacityFreed: { readonly label: string };
  /** Accepted requests of a pool wait for more or less than before. */
  readonly waitChanged: { readonly provider: string; readonly pool: string };
  /** What an abandoned request left behind is gone: pools may take it again. */
  readonly requestRecovered: { readonly request: RequestId };
  /** A launcher that was waited for has its pools registered, or will not come: requests may be given up now. */
  readonly registrySettled: Readonly<Record<never, never>>;
  /** A provider has started, perhaps after failing at first. */
  readonly providerStarted: { readonly provider: string };
  /** A driver made an error that no call returned. `provider`: which of those that succeed each other under a name. */
  readonly driverFaulted: {
    readonly provider: Pick<Provider, 'config'>;
    readonly kind: FaultKind;
    readonly error: unknown;
  };
  /** A provider is to be replaced by a new one of the same configuration. */
  readonly restartDue: { readonly provider: string };
  /** Uploads of images of a provider changed: labels may have become ready, or ceased to be. */
  readonly uploadsChanged: { readonly provider: string };
  /** The launch of a node has begun another stage of an attempt. */
  readonly launchStageBegan: { readonly node: NodeId; readonly stage: string };
}

/** What happens in a launcher, for those above who act on it, keep it on record, count it or show it. */
export class LauncherEvents {
  readonly #listeners = new Map<keyof LauncherEventMap, Set<(event: never) => void>>();

  /**
   * Calls the listener at each event of this name, while the launcher works: it must be cheap, do no I/O and never throw.
   * @returns ends it
   */
  on<Name extends keyof LauncherEventMap>(name: Name, listener: (event: LauncherEventMap[Name]) => void): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  emit<Name extends keyof LauncherEventMap>(name: Name, event: LauncherEventMap[Name]): void {
    for (const listener of this.#listeners.get(name) ?? [])
      (listener as (event: LauncherEventMap[Name]) => void)(event);
  }
}
