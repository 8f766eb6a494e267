import type {
  NodeId,
  NodeRecord,
  PoolComponentRecord,
  RecordChange,
  RequestId,
  RequestRecord,
  Resources,
} from '@nodepool/zk-protocol';
import type { EndedWork } from '../../contract/request-outcome.js';

/** The pool that decides; the same object in all its events. */
export interface DecidingPool {
  /** The pool's id in the registry, which its nodes carry as `launcher`. */
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
  /** The first request of each waiting group. */
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
  /** Resources that the node will use. */
  readonly need: Resources;
  /** The node, if it exists already: it was stopped, or another launcher began to make it. */
  readonly node?: NodeRecord | undefined;
  /** No other provider could serve the request when the launch began, so it is made also while the provider fails: no probe. */
  readonly isLastResort?: boolean | undefined;
}

/**
 * - `placed` its record is stored; `zone` is `null` if the cloud chooses
 * - `stage` an attempt has entered another stage
 * - `created` the cloud has begun to create the instance of an attempt, whose duration counts from here
 * - `failed` an attempt has failed; another may follow
 */
export type LaunchStep =
  | { readonly what: 'placed'; readonly zone: string | null }
  | { readonly what: 'created' }
  | { readonly what: 'stage'; readonly stage: string; readonly node: NodeRecord }
  | { readonly what: 'failed'; readonly error: Error };

/** How the set of registered pools changed. */
export interface PoolChange {
  readonly before: PoolComponentRecord | undefined;
  readonly after: PoolComponentRecord | undefined;
}

/** The events of a launcher by name, with the data of each. */
export interface LauncherEventMap {
  // --- records, as the mirror shows them; emitted after its indexes hold the new state
  /** A node record was created, changed or removed. */
  readonly nodeChanged: RecordChange<NodeRecord>;
  /** A node was locked or unlocked. */
  readonly nodeLockChanged: { readonly id: NodeId; readonly contenders: number };
  /** A request record was created, changed or removed. */
  readonly requestChanged: RecordChange<RequestRecord>;
  /** A request was locked or unlocked. */
  readonly requestLockChanged: { readonly id: RequestId; readonly contenders: number };
  /** A pool of any launcher was registered, changed or removed. */
  readonly poolChanged: PoolChange;
  /** An operator's order came into force, changed or ended. */
  readonly ordersChanged: Readonly<Record<never, never>>;
  /** The machine of a node that is in use, or allocated to a request that waits, cannot be used any more. Repeated for as long as it is so. */
  readonly nodeUnusable: { readonly id: NodeId; readonly why: string };
  /** An image, or one of its builds or uploads, changed. `provider`: of the upload; its labels may be ready now, or not any more. */
  readonly imageChanged: { readonly image: string; readonly provider: string | undefined };

  // --- decisions of pools
  /** The pool is being registered, and serves requests once it is; or it has ended, and its queue is empty. */
  readonly poolServes: { readonly pool: DecidingPool; readonly serves: boolean };
  /** Something changed that may let the pool serve a request: plan again, once for all changes of a turn. */
  readonly planDue: { readonly pool: DecidingPool };
  /** A planning pass has ended. `waits` is `undefined` if the pool has requests, but cannot plan at the moment. */
  readonly poolPlanned: { readonly pool: DecidingPool; readonly waits: PlannedWaits | undefined };
  /** The pool has judged the request: it is in the queue, or `why` it is not. */
  readonly requestJudged: {
    readonly pool: DecidingPool;
    readonly request: RequestRecord;
    /** In the queue. Requests of one group ask for the same, so all wait for what the first one lacks. */
    readonly group?: string;
    readonly why?: {
      readonly action: 'skip' | 'yield' | 'defer' | 'decline' | 'wait' | 'accept';
      readonly reason: DecisionReason;
    };
  };
  /** The pool starts to work on the request, which is `pending` if another launcher had accepted it before. */
  readonly requestTaken: { readonly pool: DecidingPool; readonly request: RequestRecord };
  /** A pool has ended its work on the request. */
  readonly requestEnded: EndedWork;
  /** No launcher is starting or expected back any more: requests may be failed now. */
  readonly registrySettled: Readonly<Record<never, never>>;

  // --- launches
  /** The pool has decided to launch a node. */
  readonly launchBegun: { readonly launch: Launch };
  /** The launch has come further. */
  readonly launchProgressed: { readonly launch: Launch; readonly step: LaunchStep };
  /** The launch has ended. `state` is `undefined` if the driver was never asked. */
  readonly launchEnded: { readonly launch: Launch; readonly state: 'ready' | 'failed' | 'aborted' | undefined };

  // --- providers and capacity
  /** A provider has started, perhaps after failing at first. */
  readonly providerStarted: { readonly provider: string };
  /** A provider or one of its labels became failing, slow or healthy, or a probe is due. */
  readonly healthChanged: { readonly provider: string };
  /** A pool waits for less of its provider: other pools of that provider may use it now. */
  readonly capacityFreed: { readonly provider: string; readonly pool: string };
  /** A tenant uses less: its waiting requests may be served. */
  readonly tenantCapacityFreed: { readonly tenant: string };
  /** A node of the label is gone or will not be made: requests that an order about the label holds back may be served. */
  readonly labelCapacityFreed: { readonly label: string };
}

/** The event emitter of a launcher: parts emit, and parts of higher rooms, metrics, history and web server listen. */
export class LauncherEvents {
  readonly #listeners = new Map<keyof LauncherEventMap, Set<(event: never) => void>>();

  /**
   * Calls the listener at each event of this name, synchronously: it must be cheap, do no I/O and never throw.
   * @returns unsubscribes
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
