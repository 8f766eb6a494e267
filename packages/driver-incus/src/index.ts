export { createIncusDriver, driver } from './driver.js';
export type { IncusDriverOptions } from './driver.js';
export type { IncusImageConfig, IncusLabelConfig, IncusPoolConfig, IncusProviderConfig } from './config.js';
export { createTransport, findLocalSocket } from './transport.js';
export type { ConnectionConfig, Transport, TransportAnswer, TransportRequest } from './transport.js';
