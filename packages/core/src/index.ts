export type * from './config/types.js';
export type * from './driver/types.js';
export { DRIVER_API_VERSION } from './driver/types.js';
export type { Clock, CancelTimer, Json, JsonObject, NodeRecord, RequestRecord, Resources } from '@nodepool/zk-protocol';
export { delay, isNodepoolError, NodepoolError } from '@nodepool/zk-protocol';
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
export { readCommonPool, readCommonProvider } from './config/common-values.js';
export { describeChange, sameProviderConfig } from './config/compare.js';
export { redactConfig } from './config/redact.js';
export type { ConfigWatcher, WatchConfigOptions } from './config/watch-config.js';
export { watchConfig } from './config/watch-config.js';
export type { DiscoverOptions } from './discovery/discover-driver.js';
export { discoverDriver } from './discovery/discover-driver.js';
export type { InstalledDriver } from './discovery/list-drivers.js';
export { listInstalledDrivers } from './discovery/list-drivers.js';
export type { InspectedDriver } from './discovery/inspect-drivers.js';
export { inspectDrivers } from './discovery/inspect-drivers.js';
export type { DriverPlaces } from './discovery/places.js';
export type { DriverRegistryOptions } from './discovery/registry.js';
export { createDriverRegistry } from './discovery/registry.js';
export type { DriverRegistry, LoadedDriver } from './discovery/registry-types.js';
export { scanHostKeys, checkPort, KeyScanError, ScanQueue, KEY_TYPES } from './keyscan/index.js';
export { hasHostKeys, isFakeHost, systemLookup } from './keyscan/index.js';
export type { ScanHostKeysOptions, CheckPortOptions, KeyScanFailure, KeyType } from './keyscan/index.js';
export type { HostLookup, ResolvedAddress } from './keyscan/index.js';
export type { LauncherOptions } from './runtime/launcher.js';
export { Launcher } from './runtime/launcher.js';
export type { ObserverOptions } from './runtime/observer.js';
export { ObservedConfig, Observer } from './runtime/observer.js';
export type { ConfigChange, ConfigChangeInput, PartChange, RequestChange } from './plan/config-change.js';
export { planConfigChange } from './plan/config-change.js';
export type { LimitChange } from './plan/limit-changes.js';
export { registryAfter } from './plan/registry-after.js';
export type { Offer } from './plan/servable.js';
export type { ExplainSubject, PoolExplanation, RequestExplanation } from './runtime/explanation.js';
export type { DeletionStatus } from './lifecycle/reaper.js';
export { RULES } from './plan/types.js';
export type {
  Assignment,
  AssignmentPart,
  PlannedRequest,
  PoolView,
  QuotaView,
  Reason,
  RuleName,
  Verdict,
} from './plan/types.js';
export { addResources, findShortage, subtractFromLimit, sumResources } from './plan/resources.js';
export type { Logging, LoggingOptions } from './logging/create-logging.js';
export { createLogging } from './logging/create-logging.js';
export type { LogLevel } from './logging/levels.js';
export type * from './operations/types.js';
export type { LaunchSubject, OperationMetrics } from './operations/metrics.js';
export type { ImageSource } from './operations/images.js';
export type { Instance, InstanceChange, InstanceView, Resource } from './operations/instance.js';
export { BUILD_ID_TAG, NODE_ID_TAG, POOL_TAG, PROVIDER_TAG, UPLOAD_ID_TAG } from './operations/instance.js';
export { done, failed, goto, wait } from './operations/steps.js';
export type { StateMachineOptions } from './operations/state-machine.js';
export { createStateMachine } from './operations/state-machine.js';
export type * from './statemachine/types.js';
export { defineStateMachineDriver } from './statemachine/driver.js';
export { StateMachineProvider } from './statemachine/provider.js';
export type { CallOptions, RunnableTask, TaskManagerOptions } from './taskmanager/task-manager.js';
export { TaskManager } from './taskmanager/task-manager.js';
export { Task } from './taskmanager/task.js';
export type { RateLimiterOptions } from './taskmanager/rate-limiter.js';
export { RateLimiter } from './taskmanager/rate-limiter.js';
export { RateLimitedError, isRateLimited } from './taskmanager/errors.js';
export type { InstanceListOptions, InstanceSource } from './operations/instance-list.js';
export { InstanceList } from './operations/instance-list.js';
export type { RunMachineOptions } from './operations/run-machine.js';
export { runMachine } from './operations/run-machine.js';
export type { HandlerHost } from './statemachine/handler.js';
export { StateMachineHandler } from './statemachine/handler.js';
export type { TaskManagerProviderConfig } from './taskmanager/provider.js';
export { BaseTaskManagerProvider } from './taskmanager/provider.js';
export { SimpleTaskManagerAdapter, SimpleTaskManagerInstance } from './taskmanager/simple-adapter.js';
export { SimpleTaskManagerDriver } from './taskmanager/simple-driver.js';
export type { ReadStateMachineProviderOptions } from './statemachine/read-config.js';
export { STATE_MACHINE_SCHEMAS, readStateMachineProvider } from './statemachine/read-config.js';
