import { rmSync } from 'node:fs';
import { systemClock } from '@nodepool/zk-protocol';
import { addressOf, ensureCloudDir } from '../client/address.js';
import { lockCloudDir } from '../server/lock.js';
import { CloudServer } from '../server/server.js';
import { SshEndpoints } from '../server/ssh-endpoints.js';
import type { ServeCommand } from './arguments.js';
import type { Terminal } from './terminal.js';

/** Runs the server until it is told to stop. Ends at once when another process serves the directory. */
export async function serve({ dir, listen, idleTimeoutMs }: ServeCommand, terminal: Terminal): Promise<number> {
  ensureCloudDir(dir);
  const address = addressOf(dir, listen);
  const unlock = lockCloudDir(dir);
  if (!unlock) {
    terminal.print(`the cloud in ${dir} is served already`);
    return 0;
  }
  try {
    // The socket of a killed server. Only who holds the lock of the directory may.
    if ('path' in address) rmSync(address.path, { force: true });
    const server = await CloudServer.start({
      ...{ dir, address, idleTimeoutMs, clock: systemClock, random: Math.random },
      endpoints: new SshEndpoints(dir),
    });
    terminal.onStop(() => void server.stop());
    terminal.print(`serving the cloud in ${dir}, ${server.cloud.usage.instances} instance(s)`);
    await server.ended;
    return 0;
  } finally {
    unlock();
  }
}
