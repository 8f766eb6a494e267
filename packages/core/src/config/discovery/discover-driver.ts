import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { MessageChannel } from 'node:worker_threads';
import { isNodepoolError, type Clock, setDeadline, systemClock } from '@nodepool/zk-protocol';
import satisfies from 'semver/functions/satisfies.js';
import validRange from 'semver/ranges/valid.js';
import { DRIVER_API_VERSION, type Driver } from '../../contract/driver.js';
import { DriverError, TimeoutError } from '../../contract/errors.js';
import { type DriverPackage, resolveEntry, isAbsent } from './driver-package.js';
import { findDriver, isFullName } from './find-driver.js';
import type { DriverPlaces } from './places.js';
import type { LoadedDriver } from './registry-types.js';
import { moduleFolders } from './places.js';

/** Where to look for a driver and how to load it. */
export interface DiscoverOptions extends DriverPlaces, ImportLimit {
  /** Export conditions in addition to those of Node, e.g. for the sources of a workspace. Default none. */
  conditions?: readonly string[] | undefined;
}

/**
 * Finds the package of a driver, checks its `package.json`, then loads it.
 * @param name - as in the configuration: a short name, a package name, or a path from the first folder searched
 * @throws {DriverError} with the problem, and the command or change that fixes it
 */
export async function discoverDriver(name: string, options: DiscoverOptions): Promise<LoadedDriver> {
  const found = await findDriver(name, options);
  checkManifest(name, found);
  const file = resolveEntry(found, options.conditions ?? []);
  if (file === undefined) throw new DriverError(name, `${nameOf(name, found)} has no main entry in its "exports"`);
  const driver = await importDriver(name, found, file, options);
  checkExport(name, found, driver);
  const { packageName, packageVersion, path } = found;
  const warnings = (await checkCoreOf(found)).map((warning) => `${nameOf(name, found)} ${warning}`);
  return { driver, packageName, packageVersion, path, warnings };
}

function nameOf(name: string, { packageName, packageVersion, path }: DriverPackage): string {
  return `driver "${name}": package ${packageName} ${packageVersion} in ${path}`;
}

function checkManifest(name: string, found: DriverPackage): void {
  if (!isFullName(name) && found.driver !== name && found.packageName !== name) {
    const remedy = `write driver: ${found.driver}, or install the right package`;
    throw new DriverError(name, `${nameOf(name, found)} calls itself "${found.driver}", ${remedy}`);
  }
  checkVersion(name, found, found.apiVersion, 'its package.json');
}

function checkVersion(name: string, found: DriverPackage, version: number | undefined, where: string): void {
  if (version === DRIVER_API_VERSION) return;
  const says = version === undefined ? 'names no driver API version' : `is made for driver API ${version}`;
  const newer = (version ?? 0) > DRIVER_API_VERSION;
  const remedy = newer ? 'update Nodepool, or install an older version of the package' : howToUpdate(found.packageName);
  const message = `${nameOf(name, found)} ${says} (${where}), this Nodepool has API ${DRIVER_API_VERSION}: ${remedy}`;
  throw new DriverError(name, message);
}

/** Explains how to update a package. Suggests no command for an unscoped name, which anyone may own in the registry. */
function howToUpdate(packageName: string): string {
  if (packageName.startsWith('@')) return `update it with: npm install ${packageName}@latest`;
  return 'install a newer version of it, from where this one came';
}

async function importDriver(name: string, found: DriverPackage, file: string, limit: ImportLimit): Promise<Driver> {
  let module: Readonly<Record<string, unknown>>;
  try {
    module = await importModule(file, limit);
  } catch (error) {
    const message = `${nameOf(name, found)} cannot be loaded: ${whyNotLoaded(found, error)}`;
    throw new DriverError(name, message, { cause: error });
  }
  const { driver } = module;
  if (isDriver(driver)) return driver;
  const expected = 'expected: export const driver: Driver = { name, apiVersion, capabilities, schema, ... }';
  throw new DriverError(name, `${nameOf(name, found)} ${lackOf(driver, isCommonJs(found, file))}, ${expected}`);
}

function lackOf(driver: unknown, isCommon: boolean): string {
  if (driver === undefined && isCommon) return `has no named export "driver": it ${COMMON_JS}`;
  if (driver === undefined) return 'has no named export "driver"';
  const lacking = lackingMembers(driver);
  return `exports a "driver" that is none: it has no ${lacking.join(', ')}`;
}

const COMMON_JS = 'is a CommonJS module, and drivers are ES modules: its author has to write "type": "module"';

/** Whether Node treats the file as CommonJS. */
function isCommonJs({ isModule }: DriverPackage, file: string): boolean {
  return file.endsWith('.cjs') || (!isModule && !file.endsWith('.mjs'));
}

/** Why a driver failed to load. Reinstalling only helps if a module is missing. */
function whyNotLoaded({ packageName }: DriverPackage, error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  const report = `report this to the author of ${packageName}, or try another version of it`;
  if (isNodepoolError(error, 'NODEPOOL_TIMEOUT')) {
    return `${reason}, it must not wait for anything while it is imported: ${report}, then start this program again`;
  }
  if (/^(require|module|exports) is not defined/.test(reason)) {
    return `${reason}: its code is CommonJS, and drivers are ES modules (import and export); ${report}`;
  }
  const isMissing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
  return isMissing
    ? `${reason}; a file or package it needs is missing: install ${packageName} again`
    : `${reason}; ${report}`;
}

/** Required members, by kind. The driver kit checks the rest. */
const MEMBERS = {
  name: 'string',
  capabilities: 'object',
  schema: 'object',
  getProviderConfig: 'function',
  getProvider: 'function',
} as const satisfies Partial<Record<keyof Driver, 'string' | 'object' | 'function'>>;

function isDriver(value: unknown): value is Driver {
  return lackingMembers(value).length === 0;
}

function lackingMembers(value: unknown): string[] {
  const members = Object(value) as Readonly<Record<string, unknown>>; // members of a class are in its prototype
  return Object.entries(MEMBERS).flatMap(([name, kind]) => {
    const member = members[name];
    return typeof member === kind && member !== null ? [] : [name];
  });
}

function checkExport(name: string, found: DriverPackage, driver: Driver): void {
  if (driver.name !== found.driver) {
    const names = `its package.json says "${found.driver}", its export "${driver.name}"`;
    throw new DriverError(name, `${nameOf(name, found)} has two names: ${names}; report this to its author`);
  }
  checkVersion(name, found, driver.apiVersion, 'its export');
}

const CORE = '@nodepool/core';
/** Folder of this package, for both sources and compiled files. */
const OWN_ROOT = fileURLToPath(new URL('../../..', import.meta.url));

interface CoreCopy {
  readonly version: string;
  /** With symbolic links resolved. */
  readonly path: string;
}

let running: Promise<CoreCopy | undefined> | undefined;

/** Describes problems of how a driver package resolves `@nodepool/core`, one sentence each. The driver may still work. */
async function checkCoreOf(found: DriverPackage): Promise<string[]> {
  const own = await (running ??= readCore(OWN_ROOT));
  if (own === undefined) return []; // bundled: there is one copy
  const { dependency, peer } = found.core;
  const warnings: string[] = [];
  if (dependency !== undefined)
    warnings.push(
      `has ${CORE} "${dependency}" among its dependencies, which installs a second copy: its author has to move it to peerDependencies`,
    );
  if (peer !== undefined && validRange(peer) !== null && !satisfies(own.version, peer, { includePrerelease: true }))
    warnings.push(
      `is made for ${CORE} "${peer}" (its peerDependencies), this Nodepool has ${own.version}: install a version of it that fits`,
    );
  const other = await nearestCore(found.path);
  if (other !== undefined && other.path !== own.path)
    warnings.push(
      `loads a second copy of ${CORE}, ${other.version} in ${other.path}, beside ${own.version} in ${own.path}, and the two do not ` +
        'know each other: install the package beside Nodepool, without its development dependencies',
    );
  return warnings;
}

/** Finds the copy of core that code in the folder imports; `undefined` if there is none. */
async function nearestCore(folder: string): Promise<CoreCopy | undefined> {
  for (const modules of moduleFolders({ searchFrom: [folder] })) {
    const core = await readCore(join(modules, CORE));
    if (core !== undefined) return core;
  }
  return undefined;
}

async function readCore(folder: string): Promise<CoreCopy | undefined> {
  try {
    const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version?: unknown };
    return { version: typeof version === 'string' ? version : 'unknown', path: await realpath(folder) };
  } catch (error) {
    if (isAbsent(error) || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Timeout for loading a driver package. */
interface ImportLimit {
  /** Default: the system clock. */
  readonly clock?: Clock | undefined;
  /** Default 15,000: enough for a slow disk. */
  readonly loadTimeoutMs?: number | undefined;
}

const DEFAULT_LIMIT_MS = 15_000;

/**
 * Imports a file with a timeout. An import cannot be cancelled: an import that never settles stays pending, and the next attempt
 * joins it. After a pause of this process, e.g. on a busy machine, the timeout restarts.
 * @throws {TimeoutError} the import did not settle in time
 */
async function importModule(file: string, limit: ImportLimit): Promise<Readonly<Record<string, unknown>>> {
  const { clock = systemClock, loadTimeoutMs: timeoutMs = DEFAULT_LIMIT_MS } = limit;
  let cancel = (): void => {};
  const late = new Promise<never>((_resolve, reject) => {
    const message = `${file} has not ended loading within ${timeoutMs / 1_000} s`;
    const giveUp = () => reject(new TimeoutError(message, { timeoutMs }));
    cancel = setDeadline(clock, timeoutMs, timeoutMs, giveUp);
  });
  // Neither an import nor the timers of the clock keep the process alive. An open port does, until the import settles.
  const { port1: alive } = new MessageChannel();
  alive.ref();
  try {
    const imported = import(/* @vite-ignore */ pathToFileURL(file).href) as Promise<Record<string, unknown>>;
    return await Promise.race([imported, late]);
  } finally {
    cancel();
    alive.close();
  }
}
