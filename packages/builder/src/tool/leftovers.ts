import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '@nodepool/core';
import { detachLoops, unmountAndRemove } from './mounts.js';
import { killProcessesOf } from './processes.js';

/**
 * Removes what builds of a builder that was killed have left behind: processes, mounts, loop devices and files.
 * @param tmpRoot - where that builder made its temporary directories
 */
export async function removeLeftovers(tmpRoot: string, logger: Logger): Promise<void> {
  for (const name of await readdir(tmpRoot)) {
    const directory = join(tmpRoot, name);
    try {
      await killProcessesOf(directory);
      await unmountAndRemove(directory);
      await detachLoops(directory);
    } catch (error) {
      logger.error('Leftovers of a build cannot be removed', { directory, error });
    }
  }
}
