import { defineStateMachineDriver, type Driver } from '@nodepool/core';
import { TemplateAdapter } from './adapter.js';
import { createClient, type Fetch } from './client.js';
import { readProviderConfig, schema, type TemplateProviderConfig } from './config.js';
import { DRIVER_NAME } from './name.js';

/** What a test may replace. */
export interface TemplateDriverOptions {
  /** Default: that of Node. */
  readonly fetch?: Fetch;
}

/** Makes the driver. Nothing happens before a provider is started. */
export function createDriver({ fetch = globalThis.fetch }: TemplateDriverOptions = {}): Driver {
  return defineStateMachineDriver<TemplateProviderConfig>({
    name: DRIVER_NAME,
    schema,
    getProviderConfig: readProviderConfig,
    getAdapter: (config, { tasks }) => new TemplateAdapter(createClient(config.url, tasks, fetch)),
  });
}

/** What Nodepool loads. */
export const driver: Driver = createDriver();
