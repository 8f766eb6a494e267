export { driver } from './driver.js';
export { StaticProvider } from './provider.js';
export type { HostConfig, StaticPoolConfig, StaticProviderConfig } from './config.js';
