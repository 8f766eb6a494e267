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

/** What the service and its web server need of the part that serves requests. */
export interface LauncherRuntime {
  /** Resolves when the caches are ready and every provider that could start has started. */
  start(webUrl: string | undefined): Promise<void>;
  /** Puts another configuration in force without disturbing what did not change. */
  reconfigure(config: Config): Promise<void>;
  /** What is not started yet, in an operator's words; empty when ready. */
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
  /** Tells when an image, build or upload changed. @returns ends it */
  onImageChange(listener: (image: string) => void): () => void;
  /** Providers that could not be started, and why. */
  readonly providerErrors: readonly { provider: string; error: string }[];
  /** Providers that left the configuration and still have nodes, since when in ms since the epoch. */
  readonly drainingProviders: readonly { provider: string; nodes: number; sinceMs: number }[];
  /** What was found in clouds that no record knows; times in ms since the epoch. */
  readonly leakedResources: readonly (LeakedResource & { readonly provider: string })[];
  /** What carries the name of a provider and is not proven to belong to this database; it is never deleted. */
  readonly alienResources: readonly (AlienResource & { readonly provider: string })[];
  /** Machines that providers lend, with who has them. */
  readonly hosts: readonly (HostStatus & { readonly provider: string })[];
  /** Deletions that keep failing. */
  readonly failingDeletions: readonly { nodeId: string; attempts: number; error: string | undefined }[];
  /** Orders of operators that are in force, in the order in which they were given. */
  readonly controls: readonly ControlRecord[];
  /** Tells when an order came into force, changed or ended. @returns ends it */
  onControlsChange(listener: () => void): () => void;
  /** Providers whose launches fail, or fail for some labels; times in ms since the epoch. */
  readonly failingLaunches: readonly { provider: string; report: SteeringReport }[];
  /** What is wrong now. */
  readonly conditions: ConditionSource;
  /** Why a request is where it is, or what would become of labels; `undefined` for an unknown request. */
  explain(subject: ExplainSubject): RequestExplanation | undefined;
  /** Accepts nothing more, completes what can be completed within the deadline, and unregisters. */
  drain(deadlineMs: number): Promise<void>;
  /** Ends everything at once. */
  stop(): Promise<void>;
}
