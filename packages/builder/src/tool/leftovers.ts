import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '@nodepool/core';
import { detachLoops } from './loops.js';
import { unmountAndRemove } from './mounts.js';
import { killProcessesOf } from './processes.js';

/**
 * Removes resources left by builds of a killed builder.
 * @param tmpRoot - parent of that builder's temporary directories
 */
export async function removeLeftovers(tmpRoot: string, logger: Logger): Promise<void> {
  for (const name of await readdir(tmpRoot)) await removeLeftoversOf(join(tmpRoot, name), logger);
}

/**
 * Removes resources left by one build: processes, loop devices, mounts and files. Failures are retried at the next
 * start of the builder.
 * @param directory - temporary directory of the build
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
