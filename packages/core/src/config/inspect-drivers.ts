import { discoverDriver, type DiscoverOptions } from './discovery/discover-driver.js';
import { assertUsableSchema } from './provider-schema.js';
import { listInstalledDrivers, listUndeclared, type InstalledDriver } from './discovery/list-drivers.js';

/** An installed driver package, and whether it would work. */
export interface InspectedDriver extends InstalledDriver {
  /** Why a configuration that names the driver does not get this package, and what to do; `undefined` when it does. */
  readonly problem: string | undefined;
  /** What is wrong with the package although it can be used, one sentence each, with what to do. */
  readonly warnings: readonly string[];
}

/**
 * All packages with the name of a driver, each one tried: those made for this API are loaded. A package that does not say that it
 * is a driver is among them, with that as its problem.
 */
export async function inspectDrivers(options: DiscoverOptions): Promise<InspectedDriver[]> {
  const installed = await listInstalledDrivers(options);
  const undeclared = await listUndeclared(options);
  const inspected = await Promise.all(
    installed.map(async (driver) => ({ ...driver, ...(await inspect(driver, options)) })),
  );
  return [...inspected, ...undeclared.map((driver) => ({ ...driver, warnings: [] }))];
}

async function inspect({ name, path, packageName }: InstalledDriver, options: DiscoverOptions) {
  try {
    const found = await discoverDriver(name, options);
    assertUsableSchema(found.driver, found.packageName);
    if (found.path === path) return { problem: undefined, warnings: found.warnings };
    const problem = `hidden by ${found.packageName} in ${found.path}; to use it write driver: "${packageName}"`;
    return { problem, warnings: [] };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error), warnings: [] };
  }
}
