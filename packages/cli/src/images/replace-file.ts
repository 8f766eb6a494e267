import { open, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { CliError } from '../command/errors.js';

const OWNER_ONLY = 0o600;

/**
 * Puts a text into a file that only its owner may read. A file that exists is replaced as a whole, or stays as it was when
 * something goes wrong; a device or a pipe is written to.
 * @throws CliError when it cannot be written
 */
export async function replaceFile(file: string, text: string): Promise<void> {
  try {
    const target = await realpath(file).catch(() => file);
    const isSpecial = await stat(target).then(
      (found) => !found.isFile(),
      () => false,
    );
    if (isSpecial) await writeFile(target, text);
    else await writeBeside(target, text);
  } catch (error) {
    throw new CliError(`Cannot write ${file}: ${(error as Error).message}`, { cause: error });
  }
}

async function writeBeside(target: string, text: string): Promise<void> {
  const draft = `${target}.${process.pid}.tmp`;
  try {
    const handle = await open(draft, 'wx', OWNER_ONLY);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
