import { open } from 'node:fs/promises';

const LARGEST_PART = 262_144;

/**
 * Reads on in a log.
 * @param offset - in bytes
 * @returns what follows, up to 256 KiB; empty at the end of what is written so far; `undefined` without such a file
 */
export async function readLogPart(file: string, offset: number): Promise<Buffer | undefined> {
  let handle;
  try {
    handle = await open(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const buffer = Buffer.alloc(LARGEST_PART);
    const { bytesRead } = await handle.read(buffer, 0, LARGEST_PART, offset);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}
