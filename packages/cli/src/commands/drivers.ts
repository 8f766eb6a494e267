import { DRIVER_API_VERSION, listInstalledDrivers } from '@nodepool/core';
import type { InstalledDriver } from '@nodepool/core';
import type { Listing } from '@nodepool/core/listing';
import { driverPlaces } from '../config.js';
import { printListing } from '../context.js';
import type { CliContext } from '../context.js';

const driverListing: Listing<InstalledDriver> = [
  { key: 'name', header: 'Driver', level: 'brief', value: ({ name }) => name },
  { key: 'package', header: 'Package', level: 'brief', value: ({ packageName }) => packageName },
  { key: 'version', header: 'Version', level: 'brief', value: ({ packageVersion }) => packageVersion },
  {
    key: 'usable',
    header: 'Usable',
    level: 'brief',
    value: ({ isUsable }) => isUsable,
    cell: ({ isUsable, apiVersion }) =>
      isUsable ? true : `no: made for driver API ${apiVersion ?? 'unknown'}, this is ${DRIVER_API_VERSION}`,
  },
  { key: 'path', header: 'Path', level: 'brief', value: ({ path }) => path },
];

/** `nodepool drivers`: driver packages installed on this machine, and from where they are taken. */
export async function drivers(context: CliContext): Promise<void> {
  printListing(context, driverListing, await listInstalledDrivers(driverPlaces(context.options.configFile)));
}
