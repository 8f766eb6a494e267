import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureCloudDir } from '../client/address.js';

/** The package's program, from `src` as well as from `dist`. */
const PROGRAM = fileURLToPath(new URL('../../../bin/nodepool-fake-cloud.js', import.meta.url));

/**
 * Starts the server of a directory as a process of its own, which outlives this one. When one runs already, the new one
 * ends at once. Its messages go to `server.log` in the directory.
 * @returns whether the process it started still runs
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
    child.on('error', () => {}); // No server will answer then: the connection is tried again and says so.
    child.unref();
    return () => child.exitCode === null && child.signalCode === null && child.pid !== undefined;
  } finally {
    closeSync(log);
  }
}
