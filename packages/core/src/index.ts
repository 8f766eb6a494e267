/* The contract of a driver: words, records and configuration */
export type {
  Config,
  ConfigMode,
  ConfigProblem,
  DiskimageConfig,
  DiskimageCanary,
  DiskimageValidation,
  LabelConfig,
  SourcePosition,
  EmbeddedAccess,
  HistorySettings,
  ApiToken,
  WebappConfig,
  WebhookConfig,
  WebhookEvent,
  ZooKeeperDigest,
  ZooKeeperServer,
  ZooKeeperSettings,
  ZooKeeperTls,
} from './contract/config.js';
export { WEBHOOK_EVENTS } from './contract/config.js';
export type {
  ChangePreview,
  Driver,
  DriverCapabilities,
  ImageUpload,
  JsonSchema,
  LaunchOrder,
  LaunchResult,
  AlienResource,
  HostStatus,
  LeakedResource,
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
export type {
  ImageToUpload,
  PoolConfig,
  PoolLabelConfig,
  ProviderConfig,
  ProviderImages,
} from './contract/provider-config.js';
export type { Condition, ConditionKind, ConditionSeverity, FoundCondition } from './contract/condition.js';
export { newCondition } from './conditions/condition-types.js';
export type { ErrorReason } from './conditions/error-reason.js';
export { adviceFor, reasonOfError } from './conditions/error-reason.js';
export { DRIVER_API_VERSION } from './contract/driver.js';
export type { Clock, CancelTimer, Json, JsonObject, NodeRecord, RequestRecord, Resources } from '@nodepool/zk-protocol';
export { delay, isNodepoolError, NodepoolError, orAbort } from '@nodepool/zk-protocol';
export type { Logger, LogFields } from './contract/logger.js';
export { silentLogger } from './contract/logger.js';
export { formatTemplate, templateProblem } from './text/python-format.js';
export type {
  ConfigErrorOptions,
  CoreError,
  CoreErrorCode,
  CoreErrorOptions,
  LaunchErrorReason,
} from './contract/errors.js';
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
} from './contract/errors.js';
export type { Shortage } from './contract/resources.js';
export { addResources, findShortage, subtractFromLimit, sumResources } from './contract/resources.js';
export type {
  Handler,
  Handlers,
  MachineRun,
  MachineState,
  StateMachine,
  Step,
  Transition,
  Wait,
} from './contract/state-machine.js';
export type { LaunchSubject, OperationMetrics } from './contract/operation-metrics.js';
export type { ImageSource, LaunchAttempt, UploadChoice } from './contract/images.js';
export type { Instance, InstanceChange, InstanceView, Resource } from './contract/instance.js';
export {
  BUILD_ID_TAG,
  DATABASE_ID_TAG,
  NODE_ID_TAG,
  POOL_TAG,
  PROVIDER_TAG,
  UPLOAD_ID_TAG,
  needsAddress,
} from './contract/instance.js';
export { RateLimitedError, isRateLimited } from './contract/errors.js';

/* Reading and checking the configuration of a driver */
export { unknownLabel } from './config/provider-checks.js';
export { readCommonPool, readCommonProvider } from './config/common-values.js';
export type { ReadStateMachineProviderOptions } from './cloud/state-machine/read-config.js';
export { readStateMachineProvider } from './cloud/state-machine/read-config.js';
export { STATE_MACHINE_SCHEMAS } from './cloud/state-machine/schemas.js';

/* SSH host keys */
export { scanHostKeys, checkPort, KeyScanError, ScanQueue, KEY_TYPES } from './cloud/key-scan/index.js';
export { hasHostKeys, isFakeHost, systemLookup } from './cloud/key-scan/index.js';
export type { ScanHostKeysOptions, CheckPortOptions, KeyScanFailure, KeyType } from './cloud/key-scan/index.js';
export type { HostLookup, ResolvedAddress } from './cloud/key-scan/index.js';

/* State machines: operations on one instance */
export { done, failed, goto, wait } from './cloud/operations/steps.js';
export type { StateMachineOptions } from './cloud/operations/state-machine.js';
export { createStateMachine } from './cloud/operations/state-machine.js';
export type {
  Adapter,
  AdapterContext,
  CloudImageConfig,
  CreateOrder,
  DeleteOrder,
  ImageConnection,
  ProviderDiskimageConfig,
  StateMachineDriverOptions,
  StateMachineLabelConfig,
  StateMachinePoolConfig,
  StateMachineProviderConfig,
} from './cloud/state-machine/types.js';
export { defineStateMachineDriver } from './cloud/state-machine/driver.js';
export { StateMachineProvider } from './cloud/state-machine/provider.js';
export type { StateMachineProviderParts } from './cloud/state-machine/provider-parts.js';
export type { InstanceListOptions, InstanceSource } from './cloud/operations/instance-list.js';
export { InstanceList } from './cloud/operations/instance-list.js';
export type { PollingLimits } from './cloud/operations/read-pace.js';
export type { RunMachineOptions } from './cloud/operations/run-machine.js';
export { runMachine } from './cloud/operations/run-machine.js';
export type { HandlerPort } from './cloud/state-machine/handler.js';
export { StateMachineHandler } from './cloud/state-machine/handler.js';

/* Calls to a cloud, and drivers in five calls */
export type { CallOptions, RunnableTask, TaskManagerOptions } from './cloud/task-manager/task-manager.js';
export type { QueuedTask } from './cloud/task-manager/task-queue.js';
export { databaseTag, isOurs } from './cloud/ownership/ownership.js';
export { TaskManager } from './cloud/task-manager/task-manager.js';
export { Task } from './cloud/task-manager/task.js';
export type { RateLimiterOptions } from './cloud/task-manager/rate-limiter.js';
export { RateLimiter } from './cloud/task-manager/rate-limiter.js';
export type { TaskManagerProviderConfig } from './cloud/simple-driver/provider.js';
export { BaseTaskManagerProvider } from './cloud/simple-driver/provider.js';
export { SimpleTaskManagerAdapter, SimpleTaskManagerInstance } from './cloud/simple-driver/simple-adapter.js';
export { SimpleTaskManagerDriver } from './cloud/simple-driver/simple-driver.js';
