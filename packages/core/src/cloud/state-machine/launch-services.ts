import type { Clock } from '@nodepool/zk-protocol';
import type { ImageSource } from '../../contract/images.js';
import type { OperationMetrics } from '../../contract/operation-metrics.js';
import type { scanHostKeys } from '../key-scan/scan-host-keys.js';
import type { ScanQueue } from '../key-scan/scan-queue.js';
import type { InstanceList } from '../operations/instance-list.js';
import type { Adapter, StateMachineProviderConfig } from './types.js';

/** What launches and deletions of one provider share. */
export interface LaunchServices {
  readonly config: StateMachineProviderConfig;
  readonly adapter: Adapter;
  /** Id of the database, which everything carries that is made. */
  readonly databaseId: string | undefined;
  readonly instances: InstanceList;
  readonly images: ImageSource | undefined;
  readonly scans: ScanQueue;
  readonly scan: typeof scanHostKeys;
  readonly keyScanTimeoutMs: number;
  readonly clock: Clock;
  readonly metrics: OperationMetrics | undefined;
  /** Number in [0, 1). */
  readonly random: () => number;
}
