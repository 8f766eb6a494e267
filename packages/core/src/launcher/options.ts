import type { Clock, ZooKeeper } from '@nodepool/zk-protocol';
import type { DriverRegistry } from '../config/discovery/registry-types.js';
import type { Config } from '../contract/config.js';
import type { Logger } from '../contract/logger.js';
import type { LauncherMetrics } from '../metrics/types.js';
import type { MakeFeature } from './nodes/feature.js';
import type { LauncherEvents } from './state/events.js';

/** Options of a launcher. */
export interface LauncherOptions {
  /** Connected or connecting; the caller closes it. */
  readonly zk: ZooKeeper;
  readonly config: Config;
  readonly registry: DriverRegistry;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Fully qualified name of this host. */
  readonly hostname: string;
  /** Release, published in the component registry. */
  readonly version: string;
  /** Also register pools below `/nodepool/launchers`, where old launchers and an old Zuul look. Default: false. */
  readonly announceLegacy?: boolean;
  /** Counts the work; the caller closes it. Optional; omit to count nothing. */
  readonly metrics?: LauncherMetrics | undefined;
  /** By name. Default: all. */
  readonly features?: Readonly<Record<string, MakeFeature>> | undefined;
  /** Optional; omit for new ones. */
  readonly events?: LauncherEvents | undefined;
  /** Default: `Math.random`. */
  readonly random?: () => number;
}
