export { DRIVER_API_VERSION } from '../contract/driver.js';
export type { LoadConfigOptions } from './load-config.js';
export { loadConfig } from './load-config.js';
export { formatProblem } from './problems.js';
export { composeConfigSchema } from './config-schema.js';
export { describeChange, sameProviderConfig } from './compare.js';
export type { ConfigWatcher, WatchConfigOptions } from './watch-config.js';
export { watchConfig } from './watch-config.js';
export type { InstalledDriver } from './discovery/list-drivers.js';
export { listInstalledDrivers } from './discovery/list-drivers.js';
export type { InspectedDriver } from './inspect-drivers.js';
export { inspectDrivers } from './inspect-drivers.js';
export type { DiscoverOptions } from './discovery/discover-driver.js';
export type { ImportLimit } from './discovery/import-module.js';
export type { DriverPlaces } from './discovery/places.js';
export type { DriverRegistryOptions } from './discovery/registry.js';
export { createDriverRegistry } from './discovery/registry.js';
export type { DriverRegistry, LoadedDriver } from './discovery/registry-types.js';

/* Where services keep their state, and the connection to ZooKeeper. */
export type { ConfiguredConnection } from './zookeeper-options.js';
export { configuredConnection } from './zookeeper-options.js';
export { ensureEmbeddedLogin, removeEmbeddedLogin } from './state-dir/embedded-login.js';
export { embeddedConnection, embeddedDataDir, type EmbeddedConnection, findEmbeddedServer } from './find-embedded.js';
export { formatZooKeeperServers } from './zookeeper-settings.js';
export type { EmbeddedServerInfo, StateDirOptions, StateDirUser } from './state-dir/state-dir.js';
export {
  isProcessRunning,
  embeddedSocket,
  readEmbeddedServerInfo,
  removeEmbeddedServerInfo,
  stateDirCandidates,
  stateDirOf,
  writeEmbeddedServerInfo,
} from './state-dir/state-dir.js';
