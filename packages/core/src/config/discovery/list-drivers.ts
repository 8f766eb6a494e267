import { join } from 'node:path';
import { DRIVER_API_VERSION } from '../../contract/driver.js';
import { type DriverPackage, hasManifest, readDriverPackage } from './driver-package.js';
import { type DriverPlaces, moduleFolders, namesIn, scopesIn } from './places.js';

/** A driver package found on this machine. It has not been loaded. */
export interface InstalledDriver {
  readonly name: string;
  readonly packageName: string;
  readonly packageVersion: string;
  readonly path: string;
  readonly apiVersion: number | undefined;
  /** Whether the package supports the driver API of this version. */
  readonly isUsable: boolean;
}

/** Lists driver packages with a usual name, by driver name. Omits packages shadowed by a nearer one of the same name. */
export async function listInstalledDrivers(places: DriverPlaces): Promise<InstalledDriver[]> {
  const found = new Map<string, DriverPackage>();
  for (const folder of moduleFolders(places)) {
    for (const packageName of await driverPackageNames(folder)) {
      if (found.has(packageName)) continue;
      const driverPackage = await readDriverPackage(join(folder, packageName)).catch(() => undefined); // no JSON, no driver
      if (driverPackage !== undefined) found.set(packageName, driverPackage);
    }
  }
  const drivers = [...found.values()].map(({ driver, packageName, packageVersion, path, apiVersion }) => ({
    name: driver,
    packageName,
    packageVersion,
    path,
    apiVersion,
    isUsable: apiVersion === DRIVER_API_VERSION,
  }));
  return drivers.sort((a, b) => a.name.localeCompare(b.name) || a.packageName.localeCompare(b.packageName));
}

/** Lists packages named like a driver without a declaration in `package.json`, each with its remedy. */
export async function listUndeclared(
  places: DriverPlaces,
): Promise<(InstalledDriver & { readonly problem: string })[]> {
  const found = new Map<string, InstalledDriver & { readonly problem: string }>();
  for (const folder of moduleFolders(places)) {
    for (const packageName of await driverPackageNames(folder)) {
      const path = join(folder, packageName);
      const isDeclared = await readDriverPackage(path).then(
        (one) => one !== undefined,
        () => true,
      ); // no JSON, no driver
      if (found.has(packageName) || isDeclared || !(await hasManifest(path))) continue;
      const name = packageName.replace(/^.*driver-/, '');
      const facts = { name, packageName, packageVersion: 'unknown', path, apiVersion: undefined, isUsable: false };
      found.set(packageName, { ...facts, problem: notDeclared(name, path) });
    }
  }
  return [...found.values()];
}

/** Message for a package without `nodepool.driver`. @param name - name of the driver, as far as known */
export function notDeclared(name: string, folder: string, short = name): string {
  const lacks = 'has no `nodepool.driver` in its package.json, so that it is not loaded';
  const wanted = `"nodepool": {"driver": "${short}", "apiVersion": ${DRIVER_API_VERSION}}`;
  return `driver "${name}": the package in ${folder} ${lacks}; its author has to add ${wanted}`;
}

async function driverPackageNames(folder: string): Promise<string[]> {
  const isThirdParty = (name: string) => name.startsWith('nodepool-driver-');
  const names = (await namesIn(folder)).filter(isThirdParty);
  for (const scope of await scopesIn(folder)) {
    const isDriver = (name: string) => isThirdParty(name) || (scope === '@nodepool' && name.startsWith('driver-'));
    names.push(...(await namesIn(join(folder, scope))).filter(isDriver).map((name) => `${scope}/${name}`));
  }
  return names;
}
