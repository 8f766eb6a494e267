import { dirname, join } from 'node:path';
import { createDriverRegistry, loadConfig } from '@nodepool/core/config';
import type { Config } from '@nodepool/core';
import type { DriverRegistry } from '@nodepool/core/config';
import { anyDrivers } from './any-driver.js';
import type { CliContext } from '../command/context.js';

/** Where drivers are looked for: beside the configuration, beside this program, among the global packages. */
export function driverPlaces(configFile: string): { searchFrom: string[]; globalDir: string } {
  return {
    searchFrom: [dirname(configFile), import.meta.dirname],
    globalDir: join(dirname(process.execPath), '..', 'lib', 'node_modules'),
  };
}

/** Reads what commands need to reach ZooKeeper; providers may be of any kind. @throws ConfigError */
export function loadConnectionConfig({ options, env, clock }: CliContext): Promise<Config> {
  const { configFile: file, secureFile, stateDir } = options;
  return loadConfig({ file, secureFile, stateDir, env, drivers: anyDrivers, mode: 'service', clock });
}

/** Reads everything, with the drivers, as a launcher would: what it does not know is ignored. @throws ConfigError */
export function loadFullConfig({ options, env, clock }: CliContext, drivers: DriverRegistry): Promise<Config> {
  const { configFile: file, secureFile, stateDir } = options;
  return loadConfig({ file, secureFile, stateDir, env, drivers, mode: 'service', clock });
}

/** Reads and checks everything, with the drivers. @throws ConfigError with all problems at once */
export function loadStrictConfig({ options, env, clock }: CliContext): Promise<Config> {
  const { configFile: file, secureFile, stateDir } = options;
  return loadConfig({
    file,
    secureFile,
    stateDir,
    env,
    drivers: createDriverRegistry(driverPlaces(file)),
    mode: 'validate',
    clock,
  });
}
