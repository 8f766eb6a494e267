import { DRIVER_API_VERSION } from '@nodepool/core';
import type { Driver, ProviderConfig } from '@nodepool/core';
import { readProviderConfig } from './config.js';
import type { MetastaticProviderConfig } from './config.js';
import { checkCycles } from './cycles.js';
import { previewChange } from './preview-change.js';
import { MetastaticProvider } from './provider.js';
import { schema } from './schema.js';

/** Divides nodes of other providers into slots, so that each serves several jobs at the same time. */
export const driver: Driver = {
  name: 'metastatic',
  apiVersion: DRIVER_API_VERSION,
  capabilities: {
    ...{ launches: true, pausesAtQuota: true, managesImages: false },
    ...{ rampsLaunches: false, recordsOnly: true },
  },
  schema,
  getProviderConfig: readProviderConfig,
  checkAll: (configs, problem) => checkCycles(configs.map(ownConfig), problem),
  previewChange: (config, nodes, all) => previewChange(ownConfig(config), nodes, all),
  getProvider: (config, context) => new MetastaticProvider(ownConfig(config), context),
};

/** The launcher passes back the object that `getProviderConfig` returned. */
function ownConfig(config: ProviderConfig): MetastaticProviderConfig {
  if (!isOwn(config)) throw new TypeError(`provider "${config.name}" is not configured for driver "metastatic"`);
  return config;
}

function isOwn(config: ProviderConfig): config is MetastaticProviderConfig {
  return config.driverName === 'metastatic';
}
