export type { LeaseOptions } from './acquire.js';
export { NodepoolClient } from './client.js';
export type { ClientOptions } from './client.js';
export { LeaseOverError, NodepoolClientError, RefusedError, UnreachableError } from './errors.js';
export { Lease } from './lease.js';
export { watchSleep } from './sleep.js';
export type { LeasedNode, LeaseInfo, LeaseState } from './types.js';
