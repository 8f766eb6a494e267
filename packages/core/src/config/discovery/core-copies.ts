import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import satisfies from 'semver/functions/satisfies.js';
import validRange from 'semver/ranges/valid.js';
import { type DriverPackage, isAbsent } from './driver-package.js';
import { moduleFolders } from './places.js';

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
export async function checkCoreOf(found: DriverPackage): Promise<string[]> {
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
