import {
  DriverError,
  type Config,
  type Driver,
  type PoolConfig,
  type PoolLabelConfig,
  type Provider,
  type ProviderConfig,
  type ProviderContext,
} from '@nodepool/core';
import type { DriverRegistry } from '@nodepool/core/config';
import type { LaunchRecord } from './launch-record.js';
import { PlayedCloud, PlayedHosts, type PlayedSlots } from './played-provider.js';

/**
 * The drivers of some configurations, with their machines played: by the record where they launch, by what is configured
 * where they lend. A driver that says `recordsOnly` is the real one.
 */
export function playedDrivers(drivers: ReadonlyMap<string, Driver>, record: LaunchRecord): DriverRegistry {
  const played = new Map([...drivers].map(([name, driver]) => [name, playedDriver(driver, record)]));
  return {
    get(name) {
      const driver = played.get(name);
      return driver ? Promise.resolve(driver) : Promise.reject(new DriverError(name, `driver "${name}" is not loaded`));
    },
    reset: () => Promise.resolve(),
    loaded: () => [],
  };
}

function playedDriver(driver: Driver, record: LaunchRecord): Driver {
  const { launches, recordsOnly } = driver.capabilities;
  const getProvider = (config: ProviderConfig, context: ProviderContext): Provider => {
    if (recordsOnly === true) return driver.getProvider(config, context);
    if (launches) return new PlayedCloud(config, context, record);
    return new PlayedHosts(config, context, slotsOf(driver, config), driver.getProvider(config, context));
  };
  // a driver may be an object of a class, whose methods stand in its prototype
  return Object.create(driver, { getProvider: { value: getProvider, enumerable: true } }) as Driver;
}

/** What a driver that lends machines would register if none were there. */
function slotsOf(driver: Driver, config: ProviderConfig): PlayedSlots[] {
  return [...config.pools].flatMap(([pool, each]) => {
    const alone: ProviderConfig = { ...config, pools: new Map([[pool, each]]) };
    const { register = [] } = driver.previewChange?.(alone, [], []) ?? {};
    return register.map(({ what: host, labels, count }) => ({ pool, host, labels, count }));
  });
}

/** The configuration without scans of host keys: nobody answers at the addresses of played machines. */
export function withoutKeyScans(config: Config): Config {
  return { ...config, providers: mapValues(config.providers, withoutKeyScan) };
}

function withoutKeyScan(config: ProviderConfig): ProviderConfig {
  const withoutScan = <Part extends PoolConfig | PoolLabelConfig>(part: Part): Part => ({
    ...part,
    hostKeyChecking: false,
  });
  const poolOf = (pool: PoolConfig) => ({ ...withoutScan(pool), labels: mapValues(pool.labels, withoutScan) });
  return { ...config, pools: mapValues(config.pools, poolOf) };
}

function mapValues<Value>(map: ReadonlyMap<string, Value>, change: (value: Value) => Value): Map<string, Value> {
  return new Map([...map].map(([key, value]) => [key, change(value)]));
}
