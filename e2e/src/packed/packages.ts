import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Top folder of the repository. */
export const root = fileURLToPath(new URL('../../..', import.meta.url));
/** What npm would ask the registry for anyway. */
const QUIET = ['--no-audit', '--no-fund', '--no-progress', '--prefer-offline', '--loglevel=error'];

/** Runs npm in a folder. Rejects with what it printed. */
export async function npm(cwd: string, ...args: string[]): Promise<string> {
  try {
    return (await run('npm', args, { cwd, maxBuffer: 16 * 1024 * 1024 })).stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`npm ${args.join(' ')} in ${cwd}:\n${stdout.slice(-4_000)}\n${stderr.slice(-4_000)}`, {
      cause: error,
    });
  }
}

/** Packs a folder as `npm publish` would, and returns the tarball. */
export async function pack(folder: string, into: string, ...args: string[]): Promise<string> {
  const printed = await npm(folder, 'pack', '--json', '--pack-destination', into, ...args);
  const [{ filename } = { filename: '' }] = JSON.parse(printed.slice(printed.indexOf('['))) as { filename: string }[];
  return join(into, basename(filename));
}

/**
 * Packs packages of this repository, and the neighbours they depend on; they must be built.
 * @returns tarballs by the names of their folders
 */
export async function packPackages(names: readonly string[], into: string): Promise<Map<string, string>> {
  await mkdir(into, { recursive: true });
  const all = await withNeighbours(names);
  const tarballs = await Promise.all(
    all.map(async (name) => [name, await pack(join(root, 'packages', name), into, '--ignore-scripts')] as const),
  );
  return new Map(tarballs);
}

async function withNeighbours(names: readonly string[]): Promise<string[]> {
  const found = new Set(names);
  for (const name of found) {
    const text = await readFile(join(root, 'packages', name, 'package.json'), 'utf8');
    const { dependencies = {} } = JSON.parse(text) as { dependencies?: Record<string, string> };
    for (const other of Object.keys(dependencies))
      if (other.startsWith('@nodepool/')) found.add(other.replace('@nodepool/', ''));
  }
  return [...found];
}

/** Installs tarballs, and what they need, into a folder. */
export async function install(folder: string, tarballs: readonly string[]): Promise<void> {
  await npm(folder, 'install', '--no-save', ...QUIET, ...tarballs);
}

/** An empty folder that belongs to no package. */
export async function makeSite(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{ "private": true }\n');
  return folder;
}

/** A driver made as `npm create @nodepool/driver` makes it. */
export async function createDriver(name: string, folder: string): Promise<string> {
  const program = join(root, 'packages', 'create-driver', 'bin', 'create-driver.js');
  await run(process.execPath, [program, folder, '--name', name]);
  return folder;
}
