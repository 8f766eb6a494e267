import { defineStateMachineDriver, type AdapterContext, type Driver } from '@nodepool/core';
import { OpenStackAdapter } from './adapter.js';
import { RefusedLogins } from './client/refused-logins.js';
import type { Transport } from './client/transport.js';
import { readProviderConfig, type OpenStackProvider } from './config.js';
import { CloudFileCache } from './find-cloud.js';
import { schema } from './schema.js';
import { openStackSetup } from './setup.js';

/** Options of a driver for tests. */
export interface OpenStackDriverOptions {
  /** Environment for the search of `clouds.yaml`. Default: that of the process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Transport for the calls of a provider. Default: the network. */
  readonly transport?: ((config: OpenStackProvider, context: AdapterContext) => Transport) | undefined;
}

/** Creates the driver, for tests with a cloud in the same process. */
export function createOpenStackDriver({ transport, env }: OpenStackDriverOptions = {}): Driver {
  const files = new CloudFileCache();
  const logins = new RefusedLogins();
  return defineStateMachineDriver<OpenStackProvider>({
    name: 'openstack',
    schema,
    managesImages: true,
    resumes: true,
    stops: true,
    setup: openStackSetup,
    reset: () => files.reset(),
    getProviderConfig: (entry, context) => readProviderConfig(entry, env ? { ...context, env } : context, files),
    getAdapter: (config, context) =>
      new OpenStackAdapter(config, context, { logins, transport: transport?.(config, context) }),
  });
}

/** Creates instances in OpenStack clouds. */
export const driver: Driver = createOpenStackDriver();
