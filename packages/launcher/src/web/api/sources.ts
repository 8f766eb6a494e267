import type { Clock, ZooKeeper } from '@nodepool/zk-protocol';
import type { Config } from '@nodepool/core';
import type { ShownConditions } from '@nodepool/daemon';
import type { History } from '@nodepool/history';
import type { LauncherRuntime } from '../../state/runtime.js';
import type { ActivityLog } from './activity-log.js';

/** What the API of a launcher is made from; everything but actions is in memory. */
export interface LauncherApiSources {
  readonly zk: ZooKeeper;
  readonly clock: Clock;
  readonly hostname: string;
  readonly activity: ActivityLog;
  readonly history: Pick<History, 'read' | 'page'>;
  /** Where this launcher is found by others; `undefined`: nowhere yet. */
  readonly webUrl: () => string | undefined;
  readonly config: () => Config;
  /** What is wrong now, as all services have found it. */
  readonly conditions: Pick<ShownConditions, 'merged'>;
  readonly runtime: Pick<
    LauncherRuntime,
    | 'events'
    | 'nodes'
    | 'requests'
    | 'images'
    | 'components'
    | 'allComponents'
    | 'poolStatus'
    | 'providerErrors'
    | 'drainingProviders'
    | 'failingDeletions'
    | 'hosts'
    | 'controls'
    | 'onControlsChange'
    | 'notReady'
    | 'explain'
    | 'onImageChange'
  >;
}
