import { rm } from 'node:fs/promises';
import type { ServerAddress } from './address.js';

/** Removes the socket a killed server left. Only whoever holds the lock of the directory may. */
export async function removeStaleSocket(address: ServerAddress): Promise<void> {
  if ('path' in address) await rm(address.path, { force: true });
}
