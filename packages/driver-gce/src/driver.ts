import { defineStateMachineDriver, TaskManager, type AdapterContext, type Driver } from '@nodepool/core';
import { GceAdapter } from './adapter.js';
import { createComputeClient } from './client.js';
import { readProviderConfig, type GceProviderConfig } from './config.js';
import { createCredentials } from './credentials.js';
import { createHttp, type Http } from './http.js';
import { schema } from './schema.js';
import { gceSetup } from './setup.js';

/** Parts of the driver that tests replace. */
export interface GceDriverOptions {
  /** Connects a provider to the API. Default: over HTTP, as configured. */
  readonly connect?: ((config: GceProviderConfig, context: AdapterContext) => Http) | undefined;
}

/** Creates the driver. */
export function createGceDriver({ connect = overHttp }: GceDriverOptions = {}): Driver {
  return defineStateMachineDriver<GceProviderConfig>({
    name: 'gce',
    schema,
    resumes: true,
    stops: true,
    setup: gceSetup,
    getProviderConfig: readProviderConfig,
    getAdapter: (config, context) => {
      const { name, project, region, requestsPerSecond, maxParallelCalls: maxParallel } = config;
      const reads = new TaskManager(name, { ...context, requestsPerSecond, maxParallel });
      const http = connect(config, context);
      const client = createComputeClient({
        project,
        region,
        http,
        writes: context.tasks,
        reads,
        entries: context.entries,
      });
      return new GceAdapter(config, client, context, reads);
    },
  });
}

function overHttp({ endpoint, credentials }: GceProviderConfig, { clock }: AdapterContext): Http {
  return createHttp({ endpoint, clock, credentials: createCredentials(credentials, clock) });
}

/** Creates instances in Google Compute Engine. */
export const driver: Driver = createGceDriver();
