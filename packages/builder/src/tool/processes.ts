import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Finds processes that use this directory for temporary files, including those that have left their process group.
 * @returns process ids
 */
export async function processesOf(tmpDir: string): Promise<number[]> {
  const ids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(ids.map(async (id) => ((await hasTmpDir(id, tmpDir)) ? [id] : [])));
  return found.flat().filter((id) => id !== process.pid);
}

async function hasTmpDir(id: number, tmpDir: string): Promise<boolean> {
  try {
    const environment = await readFile(join('/proc', String(id), 'environ'), 'utf8');
    return environment.split('\0').includes(`TMPDIR=${tmpDir}`);
  } catch {
    return false; // Ended, or owned by another user and so not started by this builder.
  }
}

/** Kills these processes, and processes that they start in the meantime. */
export async function killProcessesOf(tmpDir: string): Promise<void> {
  for (let round = 0; round < 10; round += 1) {
    const ids = await processesOf(tmpDir);
    if (ids.length === 0) return;
    for (const id of ids) kill(id);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function kill(id: number): void {
  try {
    process.kill(id, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
