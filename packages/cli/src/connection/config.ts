import { dirname, join } from 'node:path';
import { createDriverRegistry, loadConfig, DRIVER_API_VERSION } from '@nodepool/core/config';
import type { Config, Driver, ProviderConfig } from '@nodepool/core';
import type { DriverRegistry, LoadConfigOptions } from '@nodepool/core/config';
import type { JsonObject } from '@nodepool/zk-protocol';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';

/** Folders that are searched for drivers: beside the configuration, beside this program, among the global packages. */
export function driverPlaces(configFile: string): { searchFrom: string[]; globalDir: string } {
  return {
    searchFrom: [dirname(configFile), import.meta.dirname],
    globalDir: join(dirname(process.execPath), '..', 'lib', 'node_modules'),
  };
}

/**
 * Loads the configuration for a connection to ZooKeeper; providers of any driver are accepted.
 * @param checks - gets the settings also if the rest is wrong
 * @throws ConfigError
 */
export function loadConnectionConfig(
  { options, env, clock }: CliContext,
  checks: Pick<LoadConfigOptions, 'zookeeperRead'> = {},
): Promise<Config> {
  const { configFile: file, secureFile, stateDir } = options;
  return loadConfig({ file, secureFile, stateDir, env, drivers: anyDrivers, mode: 'service', clock, ...checks });
}

/** Loads the whole configuration with its drivers, as a launcher does: unknown keys are ignored. @throws ConfigError */
export function loadFullConfig({ options, env, clock }: CliContext, drivers: DriverRegistry): Promise<Config> {
  const { configFile: file, secureFile, stateDir } = options;
  return loadConfig({ file, secureFile, stateDir, env, drivers, mode: 'service', clock });
}

/** What else is looked at. `leavesUnserved`: whether a missing driver is a warning, as long as there are others. */
export type StrictChecks = Pick<LoadConfigOptions, 'leavesUnserved' | 'access' | 'asOriginal'>;

/**
 * Loads and validates the whole configuration with its drivers.
 * @throws ConfigError with all problems at once
 */
export function loadStrictConfig({ options, env, clock }: CliContext, checks: StrictChecks): Promise<Config> {
  const { configFile: file, secureFile, stateDir } = options;
  return loadConfig({
    file,
    secureFile,
    stateDir,
    env,
    drivers: createDriverRegistry(driverPlaces(file)),
    mode: 'validate',
    clock,
    ...checks,
  });
}

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
const anyDrivers: DriverRegistry = {
  get: (name) => Promise.resolve(anyDriver(name)),
  reset: () => Promise.resolve(),
  loaded: () => [],
};
