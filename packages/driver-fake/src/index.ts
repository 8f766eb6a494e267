/* The driver */
export { connectToServer } from './driver/connect.js';
export type { FakeCloudImageConfig, FakeLabelConfig, FakePoolConfig, FakeProviderConfig } from './driver/config.js';
export { createFakeDriver, driver } from './driver/driver.js';
export type { FakeDriverOptions } from './driver/driver.js';

/* The emulated cloud */
export {
  addressOf,
  callCloud,
  CloudFailure,
  CloudServer,
  connectInProcess,
  createCloudClient,
  defaultCloudDir,
  FAILURES,
  FakeCloud,
  spawnServer,
  SshEndpoints,
  TIMES,
} from './cloud/index.js';
export type {
  CallName,
  CloudCalls,
  CloudClient,
  CloudInstance,
  CloudServerOptions,
  CloudSettings,
  CloudState,
  CloudStatus,
  CloudTransport,
  CloudUsage,
  Distribution,
  Endpoints,
  Failure,
  FailureKind,
  FakeCloudOptions,
  Flavor,
  InstanceEvent,
  InstanceOrder,
  InstanceRecord,
  InstanceStatus,
  ServerAddress,
  SpawnOptions,
  SshSettings,
  StateEntry,
  TimeName,
  Transition,
  TransportListener,
  UploadedImage,
} from './cloud/index.js';
