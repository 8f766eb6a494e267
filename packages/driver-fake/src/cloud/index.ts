/* The cloud and what is in it */
export { FakeCloud } from './model/fake-cloud.js';
export type { CloudRecord } from './model/records.js';
export { FAILURES, readSettings, TIMES } from './model/settings.js';
export { CloudFailure } from './model/types.js';
export type { CloudInstance, Flavor, InstanceEvent, InstanceOrder, InstanceStatus } from './model/types.js';

/* Calls of a cloud */
export { addressOf, defaultCloudDir } from './client/address.js';
export { callCloud } from './client/calls.js';
export type { CallName, CloudCalls } from './client/calls.js';
export type { CloudChange, CloudClient } from './client/client.js';
export { FailuresOnOrder } from './client/failures-on-order.js';
export { HttpClient } from './client/http-client.js';
export { connectInProcess } from './client/in-process.js';

/* A cloud as a process of its own */
export { CloudServer } from './server/server.js';
export { spawnServer } from './server/spawn.js';
export { SshEndpoints } from './server/ssh-endpoints.js';
