/* The contract of a driver */
export type {
  ChangePreview,
  Driver,
  HostStatus,
  ImageUpload,
  JsonSchema,
  LaunchOrder,
  LaunchResult,
  NodeRequestHandler,
  NodeRequestHandlerNotifications,
  ProblemReporter,
  Provider,
  ProviderConfigContext,
  ProviderContext,
  ProviderImage,
  ProviderNotifications,
  QuotaSupport,
} from './contract/driver.js';
export { DRIVER_API_VERSION } from './contract/driver.js';
export type { Config, LabelConfig } from './contract/config.js';
export type { PoolConfig, PoolLabelConfig, ProviderConfig } from './contract/provider-config.js';
export type { FoundCondition } from './contract/condition.js';
export { newCondition } from './contract/condition.js';
export type { OperationMetrics } from './contract/operation-metrics.js';
export type { Logger, LogFields } from './contract/logger.js';
export { silentLogger } from './contract/logger.js';
export { sumResources } from './contract/resources.js';
export type { Clock, Json, JsonObject, NodeRecord, RequestRecord, Resources } from '@nodepool/zk-protocol';

/* Errors, by what the caller does next */
export { isNodepoolError, NodepoolError } from '@nodepool/zk-protocol';
export {
  CapacityError,
  ConfigError,
  LaunchError,
  LockLostError,
  NotFoundError,
  ProviderUnavailableError,
  QuotaError,
  RateLimitedError,
  TimeoutError,
  statsdKeyOf,
} from './contract/errors.js';

/* Reading the configuration of a provider */
export { readCommonPool, readCommonProvider } from './config/common-values.js';
export { readStateMachineProvider } from './cloud/state-machine/read-config.js';
export { STATE_MACHINE_SCHEMAS } from './cloud/state-machine/schemas.js';
export { formatTemplate, templateProblem } from './text/python-format.js';

/* What a cloud has, and the tags that say whose it is */
export type { Instance, InstanceChange, Resource } from './contract/instance.js';
export { BUILD_ID_TAG, DATABASE_ID_TAG, NODE_ID_TAG, POOL_TAG, PROVIDER_TAG } from './contract/instance.js';
export { isOurs } from './cloud/ownership/ownership.js';

/* State machines: operations on one instance */
export type { Handlers, MachineRun, StateMachine, Step, Wait } from './contract/state-machine.js';
export { createStateMachine, done, failed, goto, wait } from './cloud/operations/state-machine.js';

/* Drivers of clouds on state machines */
export type {
  Adapter,
  AdapterContext,
  CloudImageConfig,
  CreateOrder,
  DeleteOrder,
  ProviderDiskimageConfig,
  StateMachineLabelConfig,
  StateMachinePoolConfig,
  StateMachineProviderConfig,
} from './cloud/state-machine/types.js';
export { defineStateMachineDriver } from './cloud/state-machine/driver.js';

/* Lists of a cloud */
export type { EntryReader } from './cloud/operations/unreadable-entries.js';
export { SILENT_READER } from './cloud/operations/unreadable-entries.js';

/* Calls to a cloud, and drivers in five calls */
export { TaskManager } from './cloud/task-manager/task-manager.js';
export { readRetryAfter } from './cloud/task-manager/retry-after.js';
export { Task } from './cloud/task-manager/task.js';
export { SimpleTaskManagerAdapter, SimpleTaskManagerInstance } from './cloud/simple-driver/simple-adapter.js';
export { SimpleTaskManagerDriver } from './cloud/simple-driver/simple-driver.js';
