export type * from './config/types.js';
export type * from './driver/types.js';
export { DRIVER_API_VERSION } from './driver/types.js';
export type { Logger, LogFields } from './logger.js';
export { silentLogger } from './logger.js';
export type { CoreErrorCode, CoreErrorOptions, LaunchErrorReason } from './errors.js';
export {
  CapacityError,
  ConfigError,
  DriverError,
  LaunchError,
  LockLostError,
  LoggingError,
  NotFoundError,
  ProviderUnavailableError,
  QuotaError,
  TimeoutError,
  statsdKeyOf,
} from './errors.js';
export type { LoadConfigOptions } from './config/load-config.js';
export { loadConfig } from './config/load-config.js';
export { formatProblem } from './config/problems.js';
export { formatZooKeeperServers } from './config/zookeeper-settings.js';
export { providerSchema } from './config/providers.js';
export { unknownLabel } from './config/provider-checks.js';
export type { DriverRegistry, LoadedDriver } from './discovery/registry-types.js';
export { scanHostKeys, checkPort, KeyScanError, ScanQueue, KEY_TYPES } from './keyscan/index.js';
export { hasHostKeys, isFakeHost, systemLookup } from './keyscan/index.js';
export type { ScanHostKeysOptions, CheckPortOptions, KeyScanFailure, KeyType } from './keyscan/index.js';
export type { HostLookup, ResolvedAddress } from './keyscan/index.js';
