export { driver } from './driver.js';
export { MetastaticProvider } from './provider.js';
export type { MetastaticLabelConfig, MetastaticPoolConfig, MetastaticProviderConfig } from './config.js';
