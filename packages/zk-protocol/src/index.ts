export type { Clock, CancelTimer } from './clock.js';
export { systemClock, delay } from './clock.js';
export { NodepoolError, isNodepoolError } from './errors.js';
export type * from './client/types.js';
export type { ZooKeeperErrorCode } from './client/errors.js';
export { ZooKeeperError, MultiError, isZooKeeperError } from './client/errors.js';
export type * from './records/types.js';
export type * from './cache/types.js';
