import { defineStateMachineDriver, type AdapterContext, type Driver } from '@nodepool/core';
import { IncusAdapter } from './adapter.js';
import { readProviderConfig, type IncusProviderConfig } from './config.js';
import { schema } from './schema.js';
import { incusSetup } from './setup.js';
import { createTransport, type Transport } from './transport.js';

/** Parts of the driver that tests replace. */
export interface IncusDriverOptions {
  /** Connects a provider to its daemon. Default: as configured. */
  readonly connect?: ((config: IncusProviderConfig, context: AdapterContext) => Transport) | undefined;
}

/** Creates the driver. */
export function createIncusDriver({ connect }: IncusDriverOptions = {}): Driver {
  return defineStateMachineDriver<IncusProviderConfig>({
    name: 'incus',
    schema,
    managesImages: true,
    resumes: true,
    stops: true,
    setup: incusSetup,
    getProviderConfig: readProviderConfig,
    getAdapter: (config, context) =>
      new IncusAdapter(config, context, connect?.(config, context) ?? createTransport(config.connection)),
  });
}

/** Creates containers and virtual machines in Incus and LXD. */
export const driver: Driver = createIncusDriver();
