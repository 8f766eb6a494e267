import { isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DriverError } from '../../contract/errors.js';
import { adviseMissingDriver, assertDriverName } from './driver-advice.js';
import { type DriverPackage, hasManifest, readDriverPackage } from './driver-package.js';
import { listInstalledDrivers, notDeclared } from './list-drivers.js';
import { type DriverPlaces, moduleFolders, scopesIn } from './places.js';

/**
 * Finds the package of a driver without loading it: by path or full package name, then under the two usual names, then
 * under the second one in any scope. The nearest package of a name wins.
 * @throws {DriverError} no package matches, or more than one
 */
export async function findDriver(name: string, places: DriverPlaces): Promise<DriverPackage> {
  if (isPath(name)) return findByPath(name, places);
  assertDriverName(name);
  const folders = moduleFolders(places);
  for (const packageName of candidateNames(name)) {
    const found = await firstIn(folders, packageName, name);
    if (found !== undefined) return found;
  }
  const found = name.includes('/') ? undefined : await findInScopes(folders, name);
  if (found !== undefined) return found;
  const other = await findOtherPackage(folders, name);
  if (other !== undefined) throw new DriverError(name, notDeclared(name, other, isFullName(name) ? '<name>' : name));
  const installed = (await listInstalledDrivers(places)).map((driver) => driver.name);
  const advice = adviseMissingDriver(name, [...new Set(installed)], places.searchFrom);
  throw new DriverError(name, advice, { isMissing: true });
}

/** Whether the name is a path or package name, so that the driver may have a different short name. */
export function isFullName(name: string): boolean {
  return isPath(name) || name.startsWith('@');
}

function isPath(name: string): boolean {
  return name.startsWith('.') || name.startsWith('file:') || isAbsolute(name);
}

function candidateNames(name: string): string[] {
  return name.includes('/') ? [name] : [name, `@nodepool/driver-${name}`, `nodepool-driver-${name}`];
}

async function findByPath(name: string, { searchFrom }: DriverPlaces): Promise<DriverPackage> {
  const folder = name.startsWith('file:') ? fileURLToPath(name) : resolve(searchFrom[0] ?? '.', name);
  const found = await read(folder, name);
  if (found !== undefined) return found;
  const wanted = 'a folder whose package.json says "nodepool": {"driver": "<name>", "apiVersion": 1}';
  const message = `driver "${name}": ${folder} is no driver package, expected ${wanted}`;
  throw new DriverError(name, message, { isMissing: true });
}

async function firstIn(
  folders: readonly string[],
  packageName: string,
  name: string,
): Promise<DriverPackage | undefined> {
  for (const folder of folders) {
    const found = await read(join(folder, packageName), name);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Searches all scopes. Called only if the usual names fail, because it lists whole folders. */
async function findInScopes(folders: readonly string[], name: string): Promise<DriverPackage | undefined> {
  for (const folder of folders) {
    const found: DriverPackage[] = [];
    for (const scope of await scopesIn(folder)) {
      const candidate = await read(join(folder, scope, `nodepool-driver-${name}`), name);
      if (candidate !== undefined) found.push(candidate);
    }
    const [first, second] = found;
    if (first !== undefined && second !== undefined) throw new DriverError(name, ambiguous(name, first, second));
    if (first !== undefined) return first;
  }
  return undefined;
}

/** Finds a package that has the name of a driver but is not a driver. Ignores bare names, which any package may have. */
async function findOtherPackage(folders: readonly string[], name: string): Promise<string | undefined> {
  const names = candidateNames(name).filter((candidate) => candidate !== name || /[/]|^nodepool-driver-/.test(name));
  for (const folder of folders) {
    const scoped = name.includes('/')
      ? []
      : (await scopesIn(folder)).map((scope) => `${scope}/nodepool-driver-${name}`);
    for (const candidate of [...names, ...scoped]) {
      if (await hasManifest(join(folder, candidate))) return join(folder, candidate);
    }
  }
  return undefined;
}

async function read(folder: string, name: string): Promise<DriverPackage | undefined> {
  try {
    return await readDriverPackage(folder);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new DriverError(name, `driver "${name}": ${join(folder, 'package.json')} cannot be read: ${reason}`, {
      cause: error,
    });
  }
}

function ambiguous(name: string, first: DriverPackage, second: DriverPackage): string {
  const both = `${first.packageName} and ${second.packageName}`;
  return `driver "${name}" is provided by both ${both}, name the one you want in full: driver: "${first.packageName}", or remove the other with: npm uninstall ${second.packageName}`;
}
