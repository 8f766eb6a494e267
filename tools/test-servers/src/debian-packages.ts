import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from './child-process.js';

const APT = ['-o', 'DPkg::Lock::Timeout=900', '-q'];
const known = new Set<string>();

async function isInstalled(name: string): Promise<boolean> {
  if (known.has(name)) return true;
  try {
    const { stdout } = await run('dpkg-query', ['-W', '-f=${db:Status-Abbrev}', name]);
    if (!stdout.startsWith('ii')) return false;
    known.add(name);
    return true;
  } catch {
    return false; // dpkg-query fails for unknown packages and without dpkg
  }
}

/** Runs apt-get under our own lock, as it fails instead of waiting when its package lists are locked. */
async function aptGet(...args: string[]): Promise<void> {
  const lockFile = join(tmpdir(), 'nodepool-test-packages.lock');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  await run('flock', [lockFile, 'apt-get', ...APT, ...args], { env, maxBuffer: 64 * 1024 * 1024 });
}

/**
 * Installs missing Debian packages, if this process runs as root. Safe to call repeatedly and from several processes.
 * @throws {Error} packages are missing and cannot be installed; the message has the command to install them
 */
export async function ensureDebianPackages(names: readonly string[]): Promise<void> {
  const installed = await Promise.all(names.map(isInstalled));
  const missing = names.filter((_, i) => !installed[i]);
  if (missing.length === 0) return;
  const advice = `Debian packages are missing: ${missing.join(' ')}. Install them: apt-get install --no-install-recommends ${missing.join(' ')}`;
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) throw new Error(advice);
  try {
    const install = () => aptGet('install', '-y', '--no-install-recommends', ...missing);
    // there may be no package lists, or old ones whose versions do not fit what is installed
    await install().catch(() => aptGet('update').then(install));
  } catch (cause) {
    throw new Error(advice, { cause });
  }
  for (const name of missing) known.add(name);
}

/**
 * Fetches a Debian package and unpacks it, for programs whose package would also start a service. Needs no root.
 * @param dir - an empty directory, which has its files afterwards
 * @throws {Error} it cannot be fetched; the message has the command to install it
 */
export async function unpackDebianPackage(name: string, dir: string): Promise<void> {
  const fetch = () => run('apt-get', [...APT, '-o', 'APT::Sandbox::User=root', 'download', name], { cwd: dir });
  try {
    await fetch().catch(() => aptGet('update').then(fetch)); // there may be no package lists
    const [archive = ''] = await readdir(dir);
    await run('dpkg-deb', ['--extract', join(dir, archive), dir]);
  } catch (cause) {
    const advice = `the Debian package ${name} cannot be fetched: apt-get update; or install it: apt-get install ${name}`;
    throw new Error(advice, { cause });
  }
}
