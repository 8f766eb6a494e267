import { isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DriverError } from '../../contract/errors.js';
import { type DriverPackage, hasManifest, readDriverPackage } from './driver-package.js';
import { listInstalledDrivers, notDeclared } from './list-drivers.js';
import { type DriverPlaces, moduleFolders, scopesIn } from './places.js';
import { didYouMean, nearestName } from '../../text/suggest.js';

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

/** Drivers of this project, by name. */
const OWN_DRIVERS = [
  'openstack',
  'static',
  'metastatic',
  'gce',
  'incus',
  'kubernetes',
  'openshift',
  'openshiftpods',
  'fake',
];

/** Drivers of Nodepool (Python) without a package of this project. */
const ORIGINAL_DRIVERS = ['aws', 'azure', 'ibmvpc'];

const MAX_NAME_LENGTH = 214;
const SHORT_NAME = /^[a-z0-9][a-z0-9._-]*$/;
const SCOPED_NAME = /^@[a-z0-9~-][a-z0-9._~-]*\/[a-z0-9~-][a-z0-9._~-]*$/;

/**
 * Rejects invalid package names, so that no folder outside of the package folders is accessed.
 * @throws {DriverError} with a suggested name
 */
function assertDriverName(name: string): void {
  const isName = name.length <= MAX_NAME_LENGTH && (SHORT_NAME.test(name) || SCOPED_NAME.test(name));
  if (isName) return;
  const hint = didYouMean(name, [...OWN_DRIVERS, ...ORIGINAL_DRIVERS]);
  const expected = 'expected a short name such as openstack, a package such as "@acme/nodepool-driver-rack", or a path';
  throw new DriverError(name, `${JSON.stringify(name.slice(0, 80))} is no name of a driver${hint || `, ${expected}`}`, {
    isMissing: true,
  });
}

/**
 * Advises how to install a missing driver. Suggests only packages of this project and full names with a scope, because
 * anyone can register any other name.
 * @param installed - names of the installed drivers
 */
function adviseMissingDriver(name: string, installed: readonly string[], searched: readonly string[]): string {
  const missing = `driver "${name}" is not installed (searched from ${searched.join(', ') || 'the global folder'})`;
  if (OWN_DRIVERS.includes(name)) return `${missing}, install it with: npm install @nodepool/driver-${name}`;
  if (name.startsWith('@')) return `${missing}, install it with: npm install ${name}`;
  if (ORIGINAL_DRIVERS.includes(name)) {
    return (
      `driver "${name}" is one of the original Nodepool's that this one has no package for: keep this provider on a launcher ` +
      'of the original, or install a package from a trusted author and name it in full: driver: "@scope/nodepool-driver-..."'
    );
  }
  const known = [...new Set([...installed, ...OWN_DRIVERS, ...ORIGINAL_DRIVERS])];
  const meant = nearestName(name, known);
  if (meant !== undefined) return `${missing}, did you mean "${meant}"?`;
  const there = installed.length > 0 ? `installed are ${installed.join(', ')}` : 'no driver is installed';
  return `${missing}, ${there}: install the package of the driver by its full name, or correct the name`;
}
