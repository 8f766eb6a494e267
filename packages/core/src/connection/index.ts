export type { ConfiguredConnection } from './zookeeper-options.js';
export { configuredConnection } from './zookeeper-options.js';
