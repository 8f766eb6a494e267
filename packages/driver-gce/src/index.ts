export { createGceDriver, driver } from './driver.js';
export type { GceDriverOptions } from './driver.js';
export { createHttp } from './http.js';
export type { Http, HttpCall, HttpOptions } from './http.js';
export type { Credentials } from './credentials.js';
export type { GceImageConfig, GceLabelConfig, GcePoolConfig, GceProviderConfig } from './config.js';
export { COMPUTE_V1 } from './compute-v1.js';
