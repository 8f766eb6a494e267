import { access, readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';

/** Relevant content of the `package.json` of a driver package. */
export interface DriverPackage {
  readonly packageName: string;
  readonly packageVersion: string;
  /** Folder of the package, with symbolic links resolved. */
  readonly path: string;
  /** `nodepool.driver` */
  readonly driver: string;
  /** `nodepool.apiVersion` */
  readonly apiVersion: number | undefined;
  /** `exports`, else `main`. */
  readonly entry: unknown;
  /** Whether `.js` files of the package are ES modules (`type`). */
  readonly isModule: boolean;
  /** Version ranges for `@nodepool/core`, by section. */
  readonly core: { readonly dependency: string | undefined; readonly peer: string | undefined };
}

/**
 * Reads a folder as a driver package. @returns `undefined` if there is no package, or it is not a driver
 * @throws {SyntaxError} the file is not JSON
 */
export async function readDriverPackage(folder: string): Promise<DriverPackage | undefined> {
  let text: string;
  try {
    text = await readFile(join(folder, 'package.json'), 'utf8');
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
  const manifest = asMap(JSON.parse(text));
  const { driver, apiVersion } = asMap(manifest['nodepool']);
  if (typeof driver !== 'string') return undefined;
  return {
    packageName: textOr(manifest['name'], folder),
    packageVersion: textOr(manifest['version'], 'unknown'),
    path: await realpath(folder),
    driver,
    apiVersion: typeof apiVersion === 'number' ? apiVersion : undefined,
    entry: manifest['exports'] ?? manifest['main'],
    isModule: manifest['type'] === 'module',
    core: { dependency: rangeIn(manifest['dependencies']), peer: rangeIn(manifest['peerDependencies']) },
  };
}

/** Whether the folder contains a package of any kind. */
export function hasManifest(folder: string): Promise<boolean> {
  return access(join(folder, 'package.json')).then(
    () => true,
    () => false, // treat an inaccessible package as missing
  );
}

/**
 * Resolves the main entry of the package as an import in Node does.
 * @param conditions - export conditions in addition to `node`, `import` and `default`
 * @returns `undefined` if no export matches
 */
export function resolveEntry(found: DriverPackage, conditions: readonly string[]): string | undefined {
  const { entry, path } = found;
  if (entry === undefined) return join(path, 'index.js');
  const main = isSubpathMap(entry) ? entry['.'] : entry;
  const target = resolveTarget(main, new Set([...conditions, 'node', 'import', 'module-sync', 'default']));
  return target === undefined ? undefined : join(path, target);
}

function rangeIn(dependencies: unknown): string | undefined {
  const range = asMap(dependencies)['@nodepool/core'];
  return typeof range === 'string' ? range : undefined;
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise;
}

function resolveTarget(target: unknown, conditions: ReadonlySet<string>): string | undefined {
  if (typeof target === 'string') return target;
  const choices = Array.isArray(target)
    ? target
    : Object.entries(asMap(target)).flatMap(([condition, choice]) => (conditions.has(condition) ? [choice] : []));
  for (const choice of choices) {
    const resolved = resolveTarget(choice, conditions);
    if (resolved !== undefined) return resolved;
  }
  return undefined;
}

function isSubpathMap(entry: unknown): entry is Record<string, unknown> {
  return Object.keys(asMap(entry)).some((key) => key.startsWith('.'));
}

function asMap(value: unknown): Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

/** Whether a file system error means that the file does not exist. */
export function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}
