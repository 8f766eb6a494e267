import { execFile } from 'node:child_process';
import { appendFile, cp, mkdir, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { root } from './packages.js';

const run = promisify(execFile);

/** A git repository with one commit: what a clone of this one holds, nothing built. */
export interface Checkout {
  readonly folder: string;
  git(...args: string[]): Promise<string>;
  /** Commits everything. */
  commit(message: string): Promise<void>;
}

/** Makes a checkout whose packages go to the registry that `npmrc` names, with the installed dependencies of this one. */
export async function makeCheckout(folder: string, npmrc: string): Promise<Checkout> {
  const git = async (...args: string[]) =>
    (await run('git', args, { cwd: folder, maxBuffer: 64 * 1024 * 1024 })).stdout.trim();
  const commit = async (message: string) => {
    await git('add', '--all');
    await git('commit', '--quiet', '--message', message);
  };
  await mkdir(folder, { recursive: true });
  await copyTracked(folder);
  await copyInstalled(folder);
  await appendFile(join(folder, '.npmrc'), npmrc);
  await git('init', '--quiet', '--initial-branch', 'main');
  await git('config', 'user.name', 'Publisher');
  await git('config', 'user.email', 'publisher@example.org');
  await commit('feat: everything');
  return { folder, git, commit };
}

async function copyTracked(folder: string): Promise<void> {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const { stdout } = await run('git', args, { cwd: root, maxBuffer: 64 * 1024 * 1024 });
  for (const file of new Set(stdout.split('\0'))) {
    if (file === '') continue;
    await mkdir(join(folder, dirname(file)), { recursive: true });
    await cp(join(root, file), join(folder, file)).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error; // deleted, but not committed yet
    });
  }
}

/** As `npm ci` would make them, without asking anybody: links to the same files where the file system allows. */
async function copyInstalled(folder: string): Promise<void> {
  const packages = (await readdir(join(root, 'packages'))).map((name) => join('packages', name));
  for (const dir of ['.', ...packages]) {
    const source = join(root, dir, 'node_modules');
    const target = join(folder, dir, 'node_modules');
    const exists = await readdir(source).catch(() => []);
    if (exists.length === 0) continue;
    await run('cp', ['-al', source, target]).catch(() => run('cp', ['-a', source, target]));
  }
  // npm writes this one in place, and so into the folder it was linked from
  const list = join('node_modules', '.package-lock.json');
  await rm(join(folder, list));
  await cp(join(root, list), join(folder, list));
}
