import { discoverDriver, type DiscoverOptions } from './discovery/discover-driver.js';
import { assertUsableSchema } from './provider-schema.js';
import { listInstalledDrivers, listUndeclared, type InstalledDriver } from './discovery/list-drivers.js';

/** An installed driver package with its problems. */
export interface InspectedDriver extends InstalledDriver {
  /** Why the package cannot be used for the driver, with the remedy; `undefined` if it can. */
  readonly problem: string | undefined;
  /** Non-fatal problems of the package, one sentence each, with the remedy. */
  readonly warnings: readonly string[];
}

/**
 * Inspects all packages named like a driver, and loads those made for this API version. Includes packages without a driver
 * declaration, which is then their problem.
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
