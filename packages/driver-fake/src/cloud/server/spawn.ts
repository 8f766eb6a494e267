import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureCloudDir } from '../client/address.js';

/** The program of this package; the path is the same from `src` and `dist`. */
const PROGRAM = fileURLToPath(new URL('../../../bin/nodepool-fake-cloud.js', import.meta.url));

/**
 * Starts the server of a directory as a process that outlives this one. It exits at once if another server is running.
 * Its output goes to `server.log` in the directory.
 * @returns a function that tells whether the process is running
 */
export function spawnServer(dir: string, listen?: string): () => boolean {
  ensureCloudDir(dir);
  const log = openSync(join(dir, 'server.log'), 'a', 0o600);
  try {
    const args = ['serve', '--dir', dir, ...(listen === undefined ? [] : ['--listen', listen])];
    const child = spawn(process.execPath, [PROGRAM, ...args, '--idle-timeout', '60'], {
      cwd: dir,
      detached: true,
      stdio: ['ignore', log, log],
    });
    child.on('error', () => {}); // The client keeps retrying and reports that no server answers.
    child.unref();
    return () => child.exitCode === null && child.signalCode === null && child.pid !== undefined;
  } finally {
    closeSync(log);
  }
}
