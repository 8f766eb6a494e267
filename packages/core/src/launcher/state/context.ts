import type { Clock, Committer, ZooKeeper } from '@nodepool/zk-protocol';
import type { Logger } from '../../contract/logger.js';
import type { LauncherMetrics } from '../../metrics/types.js';
import type { ConfigInForce } from './config-in-force.js';
import type { ControlMirror } from './controls.js';
import type { LauncherEvents } from '../events.js';
import type { LifeCycle } from './life-cycle.js';
import type { Mirror } from './mirror.js';

/** What every part of a launcher works with. */
export interface Context {
  readonly zk: ZooKeeper;
  readonly committer: Committer;
  readonly mirror: Mirror;
  /** Orders of operators. */
  readonly controls: ControlMirror;
  /** The configuration in force. */
  readonly config: ConfigInForce;
  /** Whether work may begin. */
  readonly life: LifeCycle;
  readonly events: LauncherEvents;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Fully qualified name of this host. */
  readonly hostname: string;
  /** Release, published in the component registry. */
  readonly version: string;
  /** Missing: nothing is counted. */
  readonly metrics?: LauncherMetrics | undefined;
  /** Random number in [0, 1). */
  readonly random: () => number;
}

/** The same, logging under another name. */
export function loggingAs(context: Context, name: string): Context {
  return { ...context, logger: context.logger.child({}, name) };
}
