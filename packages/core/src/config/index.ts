export type {
  ApiToken,
  ConfigProblem,
  DiskimageConfig,
  DiskimageValidation,
  EmbeddedAccess,
  HistorySettings,
  ScheduledNodes,
  StandbySettings,
  UnservedProvider,
  WebappConfig,
  SocketAccess,
  WebTls,
  ZooKeeperSettings,
} from '../contract/config.js';
export { DRIVER_API_VERSION } from '../contract/driver.js';
export type { DriverSetup, SetupChoice, SetupContext, SetupQuestion } from '../contract/driver-setup.js';
export type { LoadConfigOptions } from './load-config.js';
export { loadConfig } from './load-config.js';
export { priceOf } from '../contract/label-price.js';
export { dueAt, localTimeOf, scheduleText } from './standby-schedule.js';
export { hostTimeZone } from './standby-settings.js';
export { formatProblem } from './problems.js';
export { newlyUnserved } from './unserved-providers.js';
export { readWebCertificate, type WebCertificate } from './web-settings.js';
export { composeConfigSchema } from './config-schema.js';
export { sameProviderConfig } from './compare.js';
export { replacedFile } from './replaced-file.js';
export type { ConfigWatcher } from './watch-config.js';
export { watchConfig } from './watch-config.js';
export { listInstalledDrivers } from './discovery/list-drivers.js';
export type { InspectedDriver } from './inspect-drivers.js';
export { inspectDrivers } from './inspect-drivers.js';
export { createDriverRegistry } from './discovery/registry.js';
export type { DriverRegistry } from './discovery/registry-types.js';

/* State directory of services, and connection to ZooKeeper. */
export type { ConfiguredConnection } from './zookeeper-options.js';
export { configuredConnection } from './zookeeper-options.js';
export { ensureEmbeddedLogin, removeEmbeddedLogin } from './state-dir/embedded-login.js';
export { ensureTokenKey, MAKE_TOKEN_KEY, readTokenKey, tokenKeyFile } from './state-dir/token-key.js';
export { embeddedConnection, embeddedDataDir, type EmbeddedConnection, findEmbeddedServer } from './find-embedded.js';
export { formatZooKeeperServers } from './zookeeper-settings.js';
export {
  isProcessRunning,
  embeddedSocket,
  localSocket,
  readEmbeddedServerInfo,
  removeEmbeddedServerInfo,
  stateDirCandidates,
  stateDirOf,
  writeEmbeddedServerInfo,
} from './state-dir/state-dir.js';
