import { cp, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const packageRoot = fileURLToPath(new URL('..', import.meta.url));

/** Template files that contain the template's name. */
const NAMED_FILES = ['package.json', 'src/name.ts', 'examples/nodepool.yaml'];
/** Build output and installed packages, which are not copied. */
const LEFT_OUT: ReadonlySet<string> = new Set(['node_modules', 'build', 'dist', 'package-lock.json']);
/** Driver name in configurations; also the suffix of the package name. */
const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;

/** Options of a new driver. */
export interface NewDriver {
  /** Target folder, relative to the working directory or absolute. Must be new or empty. */
  readonly folder: string;
  /** Name of the driver in configurations. Default: the folder's name without `nodepool-driver-`. */
  readonly name?: string | undefined;
}

/**
 * Creates a driver package from the template: sources, a fake cloud, contract tests, and the guide.
 * @returns the folder's absolute path and the driver's name
 * @throws Error when the name is invalid or the folder is not empty; writes nothing in that case
 */
export async function createDriver({ folder, name }: NewDriver): Promise<{ path: string; name: string }> {
  const path = resolve(folder);
  const driver = name ?? basename(path).replace(/^nodepool-driver-/, '');
  if (!NAME.test(driver)) {
    throw new Error(
      `"${driver}" cannot be the name of a driver: expected lower-case words joined by "-", such as "acme"`,
    );
  }
  const found = await readdir(path).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw new Error(`cannot make a driver in ${path}: ${error instanceof Error ? error.message : String(error)}`);
  });
  if (found.length > 0) throw new Error(`${path} is not empty: name a new folder`);
  await mkdir(path, { recursive: true });
  const filter = (source: string) => !LEFT_OUT.has(basename(source));
  await cp(join(packageRoot, 'template'), path, { recursive: true, filter });
  await rename(join(path, 'gitignore'), join(path, '.gitignore')); // npm does not pack `.gitignore`
  for (const file of NAMED_FILES) {
    const text = await readFile(join(path, file), 'utf8');
    await writeFile(join(path, file), text.replaceAll('template', driver));
  }
  await cp(join(packageRoot, 'docs'), join(path, 'docs'), { recursive: true }).catch((error: unknown) => {
    // packing copies the guide here; in a checkout it is in docs
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  });
  return { path, name: driver };
}
