import type { Clock, Committer, ZooKeeper } from '@nodepool/zk-protocol';
import type { Logger } from '../../contract/logger.js';
import type { LauncherMetrics } from '../../metrics/types.js';
import type { LauncherEvents } from '../events.js';
import type { ControlMirror } from './controls.js';
import type { Mirror } from './mirror.js';

/** What every part of a launcher works with. */
export interface Services {
  readonly zk: ZooKeeper;
  readonly committer: Committer;
  readonly mirror: Mirror;
  /** Orders of operators; missing: there are none. */
  readonly controls?: ControlMirror | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Fully qualified name of this host. */
  readonly hostname: string;
  /** Missing: nothing is counted. */
  readonly metrics?: LauncherMetrics | undefined;
  readonly events: LauncherEvents;
  /** Random number in [0, 1). */
  readonly random: () => number;
}

/** The same, logging under another name. */
export function loggingAs(services: Services, name: string): Services {
  return { ...services, logger: services.logger.child({}, name) };
}
