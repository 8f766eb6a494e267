import { discoverDriver, type DiscoverOptions } from './discover-driver.js';
import { listInstalledDrivers, type InstalledDriver } from './list-drivers.js';

/** An installed driver package, and whether it would work. */
export interface InspectedDriver extends InstalledDriver {
  /** Why a configuration that names the driver does not get this package, and what to do; `undefined` when it does. */
  readonly problem: string | undefined;
}

/** All driver packages with a usual name, each one tried: those made for this API are loaded. */
export async function inspectDrivers(options: DiscoverOptions): Promise<InspectedDriver[]> {
  const installed = await listInstalledDrivers(options);
  return Promise.all(installed.map(async (driver) => ({ ...driver, problem: await findProblem(driver, options) })));
}

async function findProblem({ name, path, packageName }: InstalledDriver, options: DiscoverOptions) {
  try {
    const found = await discoverDriver(name, options);
    if (found.path === path) return undefined;
    return `hidden by ${found.packageName} in ${found.path}; to use it write driver: "${packageName}"`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
