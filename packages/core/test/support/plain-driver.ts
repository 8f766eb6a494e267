import { textOf, type JsonObject } from '@nodepool/zk-protocol';
import type { DriverRegistry } from '../../src/config/index.js';
import type { Driver, JsonSchema, PoolConfig, ProviderConfig } from '../../src/index.js';
import { DriverError } from '../../src/contract/errors.js';
import { poolConfig } from './pool-config.js';

/** Schema of a minimal driver with pools and labels. */
export const PLAIN_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    password: { type: 'string', 'x-secret': true },
    diskimages: {
      type: 'array',
      items: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
    },
    'cloud-images': { type: 'array', items: { type: 'object', properties: { name: { type: 'string' } } } },
    pools: {
      type: 'array',
      items: {
        type: 'object',
        required: ['name'],
        properties: {
          labels: {
            type: 'array',
            items: {
              type: 'object',
              required: ['name'],
              properties: {
                name: { type: 'string' },
                diskimage: { type: 'string' },
                'cloud-image': { type: 'string' },
                zones: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] },
              },
              not: { required: ['diskimage', 'cloud-image'] },
            },
          },
        },
      },
    },
  },
};

/** A driver that only reads configuration. */
export function plainDriver(name: string, changes: Partial<Driver> = {}): Driver {
  return {
    name,
    apiVersion: 1,
    capabilities: { launches: false, pausesAtQuota: false, managesImages: false },
    schema: PLAIN_SCHEMA,
    getProviderConfig: (entry) => plainProviderConfig(name, entry),
    getProvider: () => {
      throw new Error('this driver only reads configuration');
    },
    ...changes,
  };
}

function plainProviderConfig(driverName: string, entry: JsonObject): ProviderConfig {
  const pools = (entry['pools'] ?? []) as { name: string; labels?: { name: string }[] }[];
  return {
    name: textOf(entry['name']) ?? '',
    driverName,
    entry,
    maxConcurrency: -1,
    priority: undefined,
    pools: new Map(pools.map((pool) => [pool.name, plainPool(pool)])),
    managesImages: false,
  };
}

function plainPool({ name, labels = [] }: { name: string; labels?: { name: string }[] }): PoolConfig {
  const names = labels.map((label) => label.name);
  return poolConfig(name, names);
}

/** Registry of the given drivers. */
export function registryOf(...drivers: Driver[]): DriverRegistry {
  return {
    get(name) {
      const driver = drivers.find((candidate) => candidate.name === name);
      if (driver !== undefined) return Promise.resolve(driver);
      return Promise.reject(new DriverError(name, `driver "${name}" is not installed`, { isMissing: true }));
    },
    reset: () => Promise.resolve(),
    loaded: () => [],
  };
}
