/* The driver */
export { connectToServer } from './driver/connect.js';
export { createFakeDriver, driver } from './driver/driver.js';
export type { FakeDriverOptions } from './driver/driver.js';

/* The emulated cloud */
export {
  addressOf,
  callCloud,
  CloudFailure,
  CloudServer,
  connectInProcess,
  FAILURES,
  FailuresOnOrder,
  FakeCloud,
  HttpClient,
  SshEndpoints,
} from './cloud/index.js';
export type {
  CallName,
  CloudCalls,
  CloudChange,
  CloudClient,
  CloudInstance,
  CloudRecord,
  InstanceEvent,
  InstanceOrder,
} from './cloud/index.js';
