import type { LauncherId, RequestRecord, Resources } from '@nodepool/zk-protocol';
import type { Provider } from '../../contract/driver.js';
import type { PoolConfig } from '../../contract/provider-config.js';
import type { Reason } from '../plan/types.js';
import type { PlannedLaunch } from './planned-launch.js';

/** What a handler needs of the pool it works for. */
export interface HandlerPool {
  readonly launcherId: LauncherId;
  readonly providerName: string;
  readonly pool: PoolConfig;
  /** The provider in force. */
  readonly runningProvider: Provider;
  /** Accepted requests may wait for capacity. */
  readonly pausesAtQuota: boolean;
  /** Whether no pool is left that could serve the request once this one has declined it. */
  isLastToDecline(request: RequestRecord): Promise<boolean>;
  needOf(label: string): Resources;
  /** The request is fulfilled: its lock is to be given up in a moment. @param entry - path of our entry in it */
  unlockLater(entry: string): void;
  /** A handler began or ceased to wait for capacity. */
  pauseChanged(): void;
  /** Whether a request with a better place may be waiting for what this one holds. */
  standsInTheWay(request: RequestRecord): boolean;
  /** Counts a launch from now on, so that no other request is given the same capacity. */
  planLaunch(label: string, request: () => RequestRecord): PlannedLaunch;
  /** Why a request goes to another pool after a launch that failed here; `undefined`: there is none that could serve it. */
  handOver(request: RequestRecord, label: string, error: Error): Reason | undefined;
}
