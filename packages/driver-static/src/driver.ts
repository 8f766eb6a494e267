import type { Driver, ProviderConfig } from '@nodepool/core';
import { checkIdentities, readProviderConfig } from './config.js';
import type { StaticProviderConfig } from './config.js';
import { previewChange } from './preview-change.js';
import { StaticProvider } from './provider.js';
import { schema } from './schema.js';

/** Lends a fixed list of machines: registers each before any request, and returns it to the pool unchanged. */
export const driver: Driver = {
  name: 'static',
  apiVersion: 1,
  capabilities: { launches: false, pausesAtQuota: false, managesImages: false },
  schema,
  getProviderConfig: readProviderConfig,
  getProvider: (config, context) => new StaticProvider(ownConfig(config), context),
  previewChange: (config, nodes) => previewChange(ownConfig(config), nodes),
  checkAll: (configs, problem) => checkIdentities(configs.map(ownConfig), problem),
};

/** The launcher passes back the object that `getProviderConfig` returned. */
function ownConfig(config: ProviderConfig): StaticProviderConfig {
  if (!isOwn(config)) throw new TypeError(`provider "${config.name}" is not configured for driver "static"`);
  return config;
}

function isOwn(config: ProviderConfig): config is StaticProviderConfig {
  return config.driverName === 'static';
}
