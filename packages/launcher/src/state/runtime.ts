import type {
  ComponentRecord,
  ControlRecord,
  ImageEntry,
  LockAware,
  NodeRecord,
  PoolComponentRecord,
  RecordCache,
  RequestRecord,
} from '@nodepool/zk-protocol';
import type { Config, HostStatus } from '@nodepool/core';
import type { AlienResource, LeakedResource } from '@nodepool/core/service';
import type { ConditionSource } from '@nodepool/core/service';
import type {
  ExplainSubject,
  LauncherEvents,
  PoolStatus,
  RequestExplanation,
  SteeringReport,
} from '@nodepool/core/launcher';

/** The part of the launcher that its process and web server use. */
export interface LauncherRuntime {
  /** Resolves when the caches are ready and every provider that could start has started. */
  start(webUrl: string | undefined): Promise<void>;
  /** Applies a changed configuration. Unchanged providers and pools keep running. */
  reconfigure(config: Config): Promise<void>;
  /** Names of parts that are not ready, for operators; empty when ready. */
  readonly notReady: readonly string[];
  readonly events: LauncherEvents;
  readonly nodes: RecordCache<NodeRecord> & LockAware;
  readonly requests: RecordCache<RequestRecord>;
  /** Images with their builds and uploads, by name. */
  readonly images: ReadonlyMap<string, ImageEntry>;
  /** Registered pools of all launchers. */
  readonly components: Iterable<PoolComponentRecord>;
  /** Load of each pool of this launcher. */
  readonly pools: readonly { provider: string; pool: string; handling: number; waiting: number; paused: number }[];
  /** The same with quota, use and reservations. */
  readonly poolStatus: readonly PoolStatus[];
  /** Registered launchers, builders and pools. */
  readonly allComponents: Iterable<ComponentRecord>;
  /** Calls the listener when an image, build or upload changed. @returns unsubscribes */
  onImageChange(listener: (image: string) => void): () => void;
  /** Providers that could not be started, and why. */
  readonly providerErrors: readonly { provider: string; error: string }[];
  /** Providers that were removed from the configuration and still have nodes. */
  readonly drainingProviders: readonly { provider: string; nodes: number; sinceMs: number }[];
  /** Cloud resources without a record; times in ms since the epoch. */
  readonly leakedResources: readonly (LeakedResource & { readonly provider: string })[];
  /** Resources with the name of a provider that may belong to another database; never deleted. */
  readonly alienResources: readonly (AlienResource & { readonly provider: string })[];
  /** Hosts of static providers, with their users. */
  readonly hosts: readonly (HostStatus & { readonly provider: string })[];
  /** Deletions that keep failing. */
  readonly failingDeletions: readonly { nodeId: string; attempts: number; error: string | undefined }[];
  /** Operator commands in force, oldest first. */
  readonly controls: readonly ControlRecord[];
  /** Calls the listener when an operator command came into force, changed or ended. @returns unsubscribes */
  onControlsChange(listener: () => void): () => void;
  /** Providers whose launches fail, or fail for some labels; times in ms since the epoch. */
  readonly failingLaunches: readonly { provider: string; report: SteeringReport }[];
  /** Current conditions. */
  readonly conditions: ConditionSource;
  /** Explains why a request is waiting, or how labels would be served; `undefined` for an unknown request. */
  explain(subject: ExplainSubject): RequestExplanation | undefined;
  /** Accepts no more requests, finishes running work within the deadline, and unregisters. */
  drain(deadlineMs: number): Promise<void>;
  /** Stops without waiting for running work. */
  stop(): Promise<void>;
}
