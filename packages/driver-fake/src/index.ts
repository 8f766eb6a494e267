export { createFakeDriver, driver } from './driver.js';
export type { FakeDriverOptions } from './driver.js';
export type { FakeCloudImageConfig, FakeLabelConfig, FakePoolConfig, FakeProviderConfig } from './config.js';
export { FakeCloud } from './cloud/cloud.js';
export type { CloudUsage } from './cloud/ledger.js';
export type { Endpoints, FakeCloudOptions } from './cloud/options.js';
export type { CloudState, StateEntry } from './cloud/state.js';
export { FAILURES, TIMES } from './cloud/settings.js';
export type { CloudSettings, Failure, SshSettings, TimeName } from './cloud/settings.js';
export type { Distribution } from './cloud/distribution.js';
export { CloudFailure } from './cloud/types.js';
export type {
  CloudInstance,
  FailureKind,
  Flavor,
  InstanceEvent,
  InstanceOrder,
  InstanceRecord,
  InstanceStatus,
  Transition,
  UploadedImage,
} from './cloud/types.js';
export { callCloud } from './api.js';
export type { CallName, CloudCalls, CloudStatus } from './api.js';
export type { CloudClient, CloudTransport, TransportListener } from './client.js';
export { createCloudClient } from './client.js';
export { connectInProcess } from './in-process.js';
export { connectToServer } from './connect.js';
export { addressOf, defaultCloudDir } from './server/address.js';
export type { ServerAddress } from './server/address.js';
export { CloudServer } from './server/server.js';
export type { CloudServerOptions } from './server/server.js';
export { SshEndpoints } from './server/ssh-endpoints.js';
export { spawnServer } from './server/spawn.js';
export type { SpawnOptions } from './server/spawn.js';
