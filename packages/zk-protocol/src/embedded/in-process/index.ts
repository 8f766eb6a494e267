export { InProcessServer } from './in-process-server.js';
export { InProcessZooKeeper } from './in-process-zookeeper.js';
export { perfectConditions } from './conditions.js';
export type { LinkConditions } from './conditions.js';
export type { InProcessOptions } from './in-process-session.js';
export type { TransactionListener } from './in-process-server.js';
