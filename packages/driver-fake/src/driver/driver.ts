import { defineStateMachineDriver, type AdapterContext, type Driver } from '@nodepool/core';
import { FakeAdapter } from './adapter.js';
import type { CloudClient } from '../cloud/index.js';
import { readProviderConfig, type FakeProviderConfig } from './config.js';
import { connectToServer } from './connect.js';
import { schema } from './schema.js';

/** Options of a driver for tests and simulations. */
export interface FakeDriverOptions {
  /** The cloud of a provider. Default: the server process in the cloud's directory, started if necessary. */
  readonly connect?: ((config: FakeProviderConfig, context: AdapterContext) => CloudClient) | undefined;
}

/** Creates the driver. For clouds in the same process, see `connectInProcess`. */
export function createFakeDriver({ connect = connectToServer }: FakeDriverOptions = {}): Driver {
  return defineStateMachineDriver<FakeProviderConfig>({
    name: 'fake',
    schema,
    managesImages: true,
    resumes: true,
    stops: true,
    getProviderConfig: readProviderConfig,
    getAdapter: (config, context) => new FakeAdapter(config, connect(config, context), context),
  });
}

/** Creates instances in a simulated cloud that survives the launcher. */
export const driver: Driver = createFakeDriver();
