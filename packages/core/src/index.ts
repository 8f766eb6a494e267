export type * from './config/types.js';
export type * from './driver/types.js';
export { DRIVER_API_VERSION } from './driver/types.js';
export type { Logger, LogFields } from './logger.js';
export { silentLogger } from './logger.js';
