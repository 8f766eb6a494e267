// One process at a time installs and builds in a checkout: two `npm ci` at once break the installation.
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** How often to look whether the holder has ended. */
const POLL_MS = 200;

const ignoring = (code, fn) => {
  try {
    return fn();
  } catch (error) {
    if (error.code !== code) throw error;
    return undefined;
  }
};

/** False when no process, or no process of a group (negative), has the id. */
function isAlive(id) {
  try {
    process.kill(id, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/**
 * Takes the lock of a checkout: a file with the id of its holder and, while one runs, of the group of its program. A file whose
 * processes have ended is stale and is removed.
 */
export async function takeBuildLock(file) {
  const own = `${file}.${process.pid}`;
  const take = (text) => {
    writeFileSync(own, text);
    try {
      return ignoring('EEXIST', () => linkSync(own, file) ?? true) ?? false;
    } finally {
      rmSync(own);
    }
  };
  let waitsFor;
  while (!take(`${process.pid}`)) {
    const holder = ignoring('ENOENT', () => readFileSync(file, 'utf8'));
    if (holder === undefined) continue;
    if (!holder.split(' ').some((id) => isAlive(Number(id)))) {
      removeStale(file, own, holder);
      continue;
    }
    const [pid] = holder.split(' ');
    if (pid !== waitsFor) {
      console.error(`Waiting for process ${pid}, which installs or builds in this checkout (${file}) ...`);
    }
    waitsFor = pid;
    await delay(POLL_MS);
  }
  const release = () => rmSync(file, { force: true });
  process.on('exit', release);
  return {
    /** Keeps the lock, even if this process is killed, until the group of a started program has ended. */
    holdFor(group) {
      writeFileSync(own, `${process.pid} ${-group}`);
      renameSync(own, file);
    },
    release() {
      process.off('exit', release);
      release();
    },
  };
}

/** Another waiting process may have replaced the stale lock by its own, which is put back. */
function removeStale(file, own, stale) {
  if (ignoring('ENOENT', () => renameSync(file, own) ?? true) === undefined) return;
  if (readFileSync(own, 'utf8') !== stale) ignoring('EEXIST', () => linkSync(own, file));
  rmSync(own);
}
