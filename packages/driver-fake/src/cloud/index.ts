/* The cloud and what is in it */
export { FakeCloud } from './model/fake-cloud.js';
export type { Distribution } from './model/distribution.js';
export type { CloudUsage } from './model/ledger.js';
export type { Endpoints, FakeCloudOptions } from './model/options.js';
export { FAILURES, readSettings, TIMES } from './model/settings.js';
export type { CloudSettings, Failure, SshSettings, TimeName } from './model/settings.js';
export type { CloudState, StateEntry } from './model/state.js';
export { CloudFailure } from './model/types.js';
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
} from './model/types.js';

/* Calls of a cloud */
export { callCloud } from './client/api.js';
export type { CallName, CloudCalls, CloudStatus } from './client/api.js';
export { createCloudClient } from './client/client.js';
export type { CloudClient, CloudTransport, TransportListener } from './client/client.js';
export { connectInProcess } from './client/in-process.js';

/* A cloud as a process of its own */
export { addressOf, defaultCloudDir } from './server/address.js';
export type { ServerAddress } from './server/address.js';
export { CloudServer } from './server/server.js';
export type { CloudServerOptions } from './server/server.js';
export { SocketTransport } from './server/socket-transport.js';
export { spawnServer } from './server/spawn.js';
export type { SpawnOptions } from './server/spawn.js';
export { SshEndpoints } from './server/ssh-endpoints.js';
