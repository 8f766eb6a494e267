import { open } from 'node:fs/promises';
import { LOG_PART_BYTES } from '@nodepool/core/service';

/**
 * Reads the next part of a log.
 * @param offset - in bytes
 * @returns at most {@link LOG_PART_BYTES}; empty at the current end of the log; `undefined` if the file does not exist
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
    const buffer = Buffer.alloc(LOG_PART_BYTES);
    const { bytesRead } = await handle.read(buffer, 0, LOG_PART_BYTES, offset);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}
