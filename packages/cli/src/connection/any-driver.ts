import { DRIVER_API_VERSION } from '@nodepool/core/config';
import type { Driver, ProviderConfig } from '@nodepool/core';
import type { DriverRegistry } from '@nodepool/core/config';
import type { JsonObject } from '@nodepool/zk-protocol';
import { CliError } from '../command/errors.js';

function toProviderConfig(driverName: string, entry: JsonObject): ProviderConfig {
  const name = typeof entry['name'] === 'string' ? entry['name'] : '';
  return { name, driverName, entry, maxConcurrency: -1, priority: undefined, pools: new Map(), managesImages: false };
}

function anyDriver(name: string): Driver {
  return {
    name,
    apiVersion: DRIVER_API_VERSION,
    capabilities: { launches: false, pausesAtQuota: false, managesImages: false },
    schema: { additionalProperties: true },
    getProviderConfig: (entry) => toProviderConfig(name, entry),
    getProvider() {
      throw new CliError(`driver "${name}" is not loaded by this command`);
    },
  };
}

/**
 * Accepts every driver name and every provider entry: commands that only need to know where ZooKeeper is must work on
 * machines without the drivers, and while a provider is being edited.
 */
export const anyDrivers: DriverRegistry = {
  get: (name) => Promise.resolve(anyDriver(name)),
  reset: () => Promise.resolve(),
  loaded: () => [],
};
