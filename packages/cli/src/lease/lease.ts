import type { ServerLease } from './server-lease.js';
import type { ZooKeeperLease } from './zookeeper-lease.js';

/** Nodes that this process holds, wherever they come from. */
export type Lease = ZooKeeperLease | ServerLease;
