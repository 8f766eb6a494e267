import { DRIVER_API_VERSION, type Driver, type Provider, type ProviderContext } from '../../contract/driver.js';
import { type ProviderConfig } from '../../contract/provider-config.js';
import { StateMachineProvider } from './provider.js';
import type { StateMachineDriverOptions, StateMachineProviderConfig } from './types.js';

/** Makes a driver of a configuration reader and an adapter: core does the rest. */
export function defineStateMachineDriver<Config extends StateMachineProviderConfig>(
  options: StateMachineDriverOptions<Config>,
): Driver {
  return {
    name: options.name,
    apiVersion: DRIVER_API_VERSION,
    capabilities: {
      ...{ launches: true, pausesAtQuota: true },
      managesImages: options.managesImages ?? false,
      resumes: options.resumes ?? false,
      stops: options.stops ?? false,
    },
    schema: options.schema,
    ...(options.setup && { setup: options.setup }),
    ...(options.reset && { reset: () => options.reset?.() }),
    ...(options.checkAll && { checkAll: options.checkAll.bind(options) }),
    // The host hands back what getProviderConfig of this same driver made.
    ...(options.missingRights && {
      missingRights: (config, context) =>
        options.missingRights?.(config as Config, context) ?? Promise.resolve(undefined),
    }),
    getProviderConfig: (entry, context) => options.getProviderConfig(entry, context),
    getProvider: (config: ProviderConfig, context: ProviderContext): Provider => {
      if (config.driverName !== options.name) {
        throw new TypeError(`provider "${config.name}" is not configured for driver "${options.name}"`);
      }
      // The host hands back what getProviderConfig of this same driver made.
      const own = config as Config;
      return new StateMachineProvider(own, context, (adapterContext) => options.getAdapter(own, adapterContext));
    },
  };
}
