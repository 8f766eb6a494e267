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

/** Events of a launcher. Methods are cheap and do not throw. */
export interface LauncherMetrics extends OperationMetrics {
  /** Starts to observe a launcher. Called once, before its caches start. */
  attach(launcher: ObservedLauncher): MetricsAttachment;
  /** A pool finished its work on a request. */
  requestEnded(event: EndedWork): void;
  /** A fulfilled request with these labels waited for one cause. @param cause - rule of the plan, or e.g. `launching` */
  requestWaited?(cause: string, labels: readonly string[], ms: number): void;
  /** A node has been `building` or `deleting` for too long. */
  nodeTooLong?(provider: string, state: string): void;
  /** A periodic sweep found work that no event announced, which indicates a defect. */
  sweepFound(work: string, count: number): void;
}

/** Data of a launcher that metrics read. All access is synchronous and in memory. */
export interface ObservedLauncher {
  readonly zk: ZooKeeper;
  readonly nodes: RecordCache<NodeRecord> & LockAware;
  readonly requests: RecordCache<RequestRecord>;
  /** Cache of images and uploads. */
  readonly images: CacheQueues;
  /** Registered pools of all launchers. */
  readonly registry: { readonly pools: readonly PoolComponentRecord[] };
  /** Calls the listener when a registered pool changes. @returns unsubscribes */
  onPoolChange(listener: () => void): () => void;
  /** The configuration in force. */
  config(): Config;
  /** Load of each pool of this launcher. */
  pools(): readonly PoolLoad[];
  /** Operator controls in force; omitted if the launcher does not observe them. */
  controls?(): readonly ControlRecord[];
  /** Number of deletions that keep failing. */
  failingDeletions(): number;
  /** Providers whose launches fail. */
  failingProviders(): readonly string[];
}

/** Backlog of a cache. */
export interface CacheQueues {
  readonly eventQueue: number;
  readonly playbackQueue: number;
}

/** Observation of one launcher. */
export interface MetricsAttachment {
  /** Called when the caches are complete: metrics of the whole installation can be sent. */
  start(): void;
  /** Called after a new configuration takes effect. */
  configChanged(): void;
  /** Stops the observation. Idempotent. */
  stop(): void;
}

/** Resource usage of the process. */
export interface ProcessUsage {
  readonly startTimeSeconds: number;
  readonly cpuUserSeconds: number;
  readonly cpuSystemSeconds: number;
  readonly residentBytes: number;
  readonly heapUsedBytes: number;
  readonly heapTotalBytes: number;
  /** Fraction of time the event loop was busy since the last call, 0 to 1. */
  readonly eventLoopUtilization: number;
  /** `undefined` if the operating system does not provide it. */
  readonly openFiles: number | undefined;
}
