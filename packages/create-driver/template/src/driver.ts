import { defineStateMachineDriver, type Driver } from '@nodepool/core';
import { TemplateAdapter } from './adapter.js';
import { createClient, type Fetch } from './client.js';
import { readProviderConfig, schema, type TemplateProviderConfig } from './config.js';
import { DRIVER_NAME } from './name.js';

/** Dependencies that tests replace. */
export interface TemplateDriverOptions {
  /** Default: the global `fetch`. */
  readonly fetch?: Fetch;
}

/** Creates the driver. It makes no calls until a provider starts. */
export function createDriver({ fetch = globalThis.fetch }: TemplateDriverOptions = {}): Driver {
  return defineStateMachineDriver<TemplateProviderConfig>({
    name: DRIVER_NAME,
    schema,
    getProviderConfig: readProviderConfig,
    getAdapter: (config, { tasks }) => new TemplateAdapter(createClient(config.url, tasks, fetch)),
  });
}

/** Entry point that Nodepool loads. */
export const driver: Driver = createDriver();
