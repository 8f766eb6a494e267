import type { Clock, Committer, ZooKeeper } from '@nodepool/zk-protocol';
import type { Logger } from '../../contract/logger.js';
import type { LauncherMetrics } from '../../metrics/types.js';
import type { Config } from '../../contract/config.js';
import type { ControlMirror } from './controls.js';
import type { LauncherEvents } from './events.js';
import type { LifeCycle } from './life-cycle.js';
import type { Mirror } from './mirror.js';
import type { ServerTime } from './server-clock.js';

/** The services that all parts of a launcher use. */
export interface Context {
  readonly zk: ZooKeeper;
  readonly committer: Committer;
  readonly mirror: Mirror;
  /** Operators' orders. */
  readonly controls: ControlMirror;
  /** The configuration in force; a reload replaces `now`. */
  readonly config: { now: Config };
  /** Whether work may begin. */
  readonly life: LifeCycle;
  readonly events: LauncherEvents;
  readonly clock: Clock;
  /** The time that all launchers agree about. */
  readonly serverClock?: ServerTime | undefined;
  readonly logger: Logger;
  /** Fully qualified name of this host. */
  readonly hostname: string;
  /** Release, published in the component registry. */
  readonly version: string;
  /** Optional; omit to count nothing. */
  readonly metrics?: LauncherMetrics | undefined;
  /** Returns a random number in [0, 1). */
  readonly random: () => number;
}

/** The same, logging under another name. */
export function loggingAs(context: Context, name: string): Context {
  return { ...context, logger: context.logger.child({}, name) };
}
