// Makes a fresh or changed checkout ready: installs what package-lock.json names and builds every package.
// Plain Node without dependencies, because it runs before there are any.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { constants } from 'node:os';
import { setTimeout } from 'node:timers';
import { fileURLToPath } from 'node:url';
import { takeBuildLock } from './build-lock.mjs';

/** The repository's top folder. */
export const root = fileURLToPath(new URL('..', import.meta.url));

/** How long a program may clean up after the first Ctrl-C: npm itself would go on for up to a minute. */
const GRACE_MS = 1000;

let lock;

/** Installs or builds while no other process does. */
async function locked(work) {
  lock = await takeBuildLock(`${root}.build-lock`);
  await work();
  lock.release();
  lock = undefined;
}

/**
 * Runs a command in the top folder, showing what it prints; a failing command ends this process with its status. A signal is passed
 * on to all processes of the command, and a second one kills them.
 */
export async function runOrExit(command, args) {
  let ending;
  const kill = (name) => {
    try {
      process.kill(-child.pid, name);
    } catch (error) {
      if (error.code !== 'ESRCH') throw error;
    }
  };
  const end = (name) => {
    kill(ending === undefined ? name : 'SIGKILL');
    ending ??= name;
    setTimeout(() => kill('SIGKILL'), GRACE_MS);
  };
  // before the command starts: a signal that ended this process at once would leave the command running
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const name of signals) process.on(name, end);
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], detached: true });
  // at once: if this process is killed, the command keeps the lock
  if (child.pid !== undefined) lock?.holdFor(child.pid);
  const [status, signal] = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (...how) => resolve(how));
  });
  if (ending !== undefined) kill('SIGKILL');
  for (const name of signals) process.off(name, end);
  if (ending ?? signal) process.exit(128 + constants.signals[ending ?? signal]);
  if (status !== 0) process.exit(status);
}

/** Path of the program a development dependency brings along. */
export const bin = (packagePath) => `${root}node_modules/${packagePath}`;

const lockedPackages = (file) => JSON.parse(readFileSync(`${root}${file}`, 'utf8')).packages;

/** True when the packages of others are those that package-lock.json says. What npm leaves out on this platform does not count. */
function isInstalled() {
  if (!existsSync(`${root}node_modules/.package-lock.json`)) return false;
  const installed = lockedPackages('node_modules/.package-lock.json');
  return Object.entries(lockedPackages('package-lock.json')).every(([path, wanted]) => {
    if (!path.includes('node_modules/') || wanted.link || wanted.optional || wanted.devOptional) return true;
    const found = installed[path];
    return found !== undefined && found.version === wanted.version && found.integrity === wanted.integrity;
  });
}

/** Own packages without a link in node_modules, such as a package that a pull has added: folders below the top folder. */
function unlinkedPackages() {
  const { workspaces = [] } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
  const folders = workspaces.flatMap((place) => (place.endsWith('/*') ? foldersIn(place.slice(0, -2)) : [place]));
  return folders.filter((folder) => existsSync(`${root}${folder}/package.json`) && !isLinked(folder));
}

function foldersIn(folder) {
  if (!existsSync(`${root}${folder}`)) return [];
  const entries = readdirSync(`${root}${folder}`, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => `${folder}/${name}`);
}

function isLinked(folder) {
  const { name } = JSON.parse(readFileSync(`${root}${folder}/package.json`, 'utf8'));
  const link = `${root}node_modules/${name}`;
  return existsSync(link) && realpathSync(link) === realpathSync(`${root}${folder}`);
}

/** Installs when something is missing or has another version, and links packages of ours that are new. */
export const ensureInstalled = () => locked(install);

async function install() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    console.error(`Node ${process.versions.node} is too old: Nodepool needs Node 20.19 or newer.`);
    process.exit(1);
  }
  if (!isInstalled()) {
    console.error('Installing dependencies (npm ci) ...');
    await runOrExit('npm', ['ci', '--no-progress', '--loglevel=error']);
  }
  const unlinked = unlinkedPackages();
  if (unlinked.length === 0) return;
  console.error(`Linking ${unlinked.join(', ')} (npm install) ...`);
  await runOrExit('npm', [
    'install',
    '--no-audit',
    '--no-fund',
    '--no-progress',
    '--prefer-offline',
    '--loglevel=error',
  ]);
}

/**
 * Compiles what changed since the last time, in the order of the project references: everything, or folders and what they
 * refer to.
 */
export function ensureBuilt(...projects) {
  return locked(async () => {
    await install();
    await runOrExit(process.execPath, [bin('typescript/bin/tsc'), '-b', ...(projects.length > 0 ? projects : ['.'])]);
    await runOrExit(process.execPath, [`${root}scripts/page.mjs`]);
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await ensureBuilt();
