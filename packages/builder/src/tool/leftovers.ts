import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '@nodepool/core';
import { detachLoops } from './loops.js';
import { unmountAndRemove } from './mounts.js';
import { killProcessesOf } from './processes.js';

/**
 * Removes what builds of a builder that was killed have left behind.
 * @param tmpRoot - where that builder made its temporary directories
 */
export async function removeLeftovers(tmpRoot: string, logger: Logger): Promise<void> {
  for (const name of await readdir(tmpRoot)) await removeLeftoversOf(join(tmpRoot, name), logger);
}

/**
 * Removes what one build has left behind: processes, loop devices, mounts and files. What cannot be removed is tried again when
 * the builder starts.
 * @param directory - of its temporary files
 */
export async function removeLeftoversOf(directory: string, logger: Logger): Promise<void> {
  try {
    await killProcessesOf(directory);
    await detachLoops(directory);
    await unmountAndRemove(directory);
  } catch (error) {
    logger.error('Leftovers of a build cannot be removed', { directory, error });
  }
}
