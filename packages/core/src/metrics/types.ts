import type {
  ControlRecord,
  LockAware,
  NodeRecord,
  PoolComponentRecord,
  RecordCache,
  RequestRecord,
  ZooKeeper,
} from '@nodepool/zk-protocol';
import type { Config } from '../contract/config.js';
import type { OperationMetrics } from '../contract/operation-metrics.js';
import type { PoolLoad } from '../contract/pool-load.js';
import type { EndedWork } from '../contract/request-outcome.js';

/** What a slow sweep can find left undone although events should have caused it to be done. */
export type SweptWork = 'deletion' | 'lost-request' | 'standby-node' | 'waiting-request';

/** What a launcher reports while it works. Every method is cheap and none throws. */
export interface LauncherMetrics extends OperationMetrics {
  /** Begins to follow a launcher. Called once, before its caches start. */
  attach(launcher: ObservedLauncher): MetricsAttachment;
  /** A pool has ended its work on a request. */
  requestEnded(event: EndedWork): void;
  /** A fulfilled request with these labels has waited for one thing. @param cause - a rule of the plan, or `launching` and the like */
  requestWaited?(cause: string, labels: readonly string[], ms: number): void;
  /** A node has been `building` or `deleting` for too long. */
  nodeTooLong?(provider: string, state: string): void;
  /** A periodic sweep found something to do that no event had announced: a defect worth a look. */
  sweepFound(work: SweptWork, count: number): void;
}

/** What is read of a launcher. Everything is synchronous and in memory. */
export interface ObservedLauncher {
  readonly zk: ZooKeeper;
  readonly nodes: RecordCache<NodeRecord> & LockAware;
  readonly requests: RecordCache<RequestRecord>;
  /** What is known of uploads. */
  readonly images: CacheQueues;
  /** Registered pools of all launchers. */
  readonly registry: { readonly pools: readonly PoolComponentRecord[] };
  /** Calls the listener when a registered pool changed. @returns unsubscribes */
  onPoolChange(listener: () => void): () => void;
  /** The configuration in force. */
  config(): Config;
  /** Load of each pool of this launcher. */
  pools(): readonly PoolLoad[];
  /** Orders of operators in force; missing: they are not followed. */
  controls?(): readonly ControlRecord[];
  /** How many deletions keep failing. */
  failingDeletions(): number;
  /** Providers whose launches fail. */
  failingProviders(): readonly string[];
}

/** How much a cache is behind. */
export interface CacheQueues {
  readonly eventQueue: number;
  readonly playbackQueue: number;
}

/** The following of one launcher. */
export interface MetricsAttachment {
  /** The caches are complete: figures of the whole installation may be sent. */
  start(): void;
  /** Another configuration is in force. */
  configChanged(): void;
  /** Follows no longer. Safe to repeat. */
  stop(): void;
}

/** What the process uses, for the exposition. */
export interface ProcessUsage {
  readonly startTimeSeconds: number;
  readonly cpuUserSeconds: number;
  readonly cpuSystemSeconds: number;
  readonly residentBytes: number;
  readonly heapUsedBytes: number;
  readonly heapTotalBytes: number;
  /** Part of the time in which the event loop was busy since the last call, 0 to 1. */
  readonly eventLoopUtilization: number;
  /** `undefined` where the system does not tell. */
  readonly openFiles: number | undefined;
}
