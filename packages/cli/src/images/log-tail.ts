import { once } from 'node:events';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';

const CHUNK = 65_536;

/** A log that grows, wherever it is. */
export interface Tail {
  /**
   * Writes what has been added since the last call to standard output.
   * @param isLast - nothing more will be written
   * @returns false when there is no such log
   */
  copyNew(isLast?: boolean): Promise<boolean>;
  close(): Promise<void>;
}

/** Writes a part of a log, no faster than it is taken. */
export async function writePart(part: Buffer, signal: AbortSignal): Promise<void> {
  if (!process.stdout.write(part)) await once(process.stdout, 'drain', { signal });
}

/** A log in a file of this machine. */
export class LogTail implements Tail {
  #handle: FileHandle | undefined;
  readonly #buffer = Buffer.alloc(CHUNK);

  constructor(
    readonly file: string,
    private readonly signal: AbortSignal,
  ) {}

  async copyNew(): Promise<boolean> {
    this.#handle ??= await openIfPresent(this.file);
    if (!this.#handle) return false;
    for (;;) {
      const { bytesRead } = await this.#handle.read(this.#buffer, 0, CHUNK, null);
      if (bytesRead === 0 || this.signal.aborted) return true;
      await writePart(Buffer.from(this.#buffer.subarray(0, bytesRead)), this.signal);
    }
  }

  async close(): Promise<void> {
    await this.#handle?.close();
  }
}

async function openIfPresent(file: string): Promise<FileHandle | undefined> {
  try {
    return await open(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
