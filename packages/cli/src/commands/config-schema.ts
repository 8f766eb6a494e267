import type { Driver } from '@nodepool/core';
import { composeConfigSchema, createDriverRegistry, listInstalledDrivers } from '@nodepool/core/config';
import { isNodepoolError } from '@nodepool/zk-protocol';
import { NO_ARGUMENTS, defineCommand } from '../command/command.js';
import { print, inform } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { driverPlaces } from '../connection/config.js';

/** `nodepool config-schema`. */
export const command = defineCommand({
  parse: () => NO_ARGUMENTS,
  run: configSchema,
});

/**
 * `nodepool config-schema`: a JSON schema of the configuration with the drivers that are installed, for editors. A driver
 * that cannot be used is left out, with a message on standard error.
 */
async function configSchema(context: CliContext): Promise<void> {
  const places = driverPlaces(context.options.configFile);
  const registry = createDriverRegistry(places);
  const drivers: Driver[] = [];
  for (const name of new Set((await listInstalledDrivers(places)).map((installed) => installed.name))) {
    try {
      drivers.push(await registry.get(name));
    } catch (error) {
      if (!isNodepoolError(error)) throw error;
      inform(`nodepool: left out: ${error.message}`);
    }
  }
  print(JSON.stringify(composeConfigSchema(drivers), undefined, 2));
}
