import { inspectDrivers } from '@nodepool/core/config';
import type { InspectedDriver } from '@nodepool/core/config';
import type { Listing } from '@nodepool/core/service';
import { NO_ARGUMENTS, defineCommand } from '../command/command.js';
import { inform } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { driverPlaces } from '../connection/config.js';
import { printListing } from '../terminal/output.js';

/** `nodepool drivers`. */
export const command = defineCommand({
  reads: true,
  parse: () => NO_ARGUMENTS,
  run: drivers,
});

const driverListing: Listing<InspectedDriver> = [
  { key: 'name', header: 'Driver', level: 'brief', value: ({ name }) => name },
  { key: 'package', header: 'Package', level: 'brief', value: ({ packageName }) => packageName },
  { key: 'version', header: 'Version', level: 'brief', value: ({ packageVersion }) => packageVersion },
  { key: 'api', header: 'API', level: 'brief', value: ({ apiVersion }) => apiVersion ?? null },
  { key: 'usable', header: 'Usable', level: 'brief', value: ({ problem }) => problem === undefined },
  { key: 'path', header: 'Path', level: 'brief', value: ({ path }) => path },
  {
    key: 'problem',
    header: 'Problem',
    level: 'extra',
    value: ({ problem, warnings }) => problem ?? (warnings.join('; ') || null),
  },
];

/** `nodepool drivers`: driver packages installed on this machine, with paths and problems. */
async function drivers(context: CliContext): Promise<void> {
  const found = await inspectDrivers(driverPlaces(context.options.configFile));
  printListing(context, driverListing, found);
  if (context.options.format !== 'table') return;
  for (const { problem, warnings } of found) {
    for (const text of problem === undefined ? warnings : [problem]) inform(text);
  }
}
