import { dirname, join } from 'node:path';
import { createDriverRegistry, loadConfig } from '@nodepool/core';
import type { Config, ConfigMode, DriverRegistry } from '@nodepool/core';
import type { CliContext } from './context.js';

/** Where drivers are looked for: beside the configuration, beside this program, among the global packages. */
export function driverPlaces(configFile: string): { searchFrom: string[]; globalDir: string } {
  return {
    searchFrom: [dirname(configFile), import.meta.dirname],
    globalDir: join(dirname(process.execPath), '..', 'lib', 'node_modules'),
  };
}

/** Drivers as the configuration names them. */
export function createRegistry(context: CliContext): DriverRegistry {
  return createDriverRegistry(driverPlaces(context.options.configFile));
}

/** Reads the configuration the options name. @throws ConfigError with all problems at once */
export function loadCliConfig(context: CliContext, mode: ConfigMode = 'service'): Promise<Config> {
  const { configFile, secureFile } = context.options;
  return loadConfig({ file: configFile, secureFile, env: context.env, drivers: createRegistry(context), mode });
}
