import { once } from 'node:events';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';

const CHUNK = 65_536;

/** Copies a file that grows to standard output. */
export class LogTail {
  #handle: FileHandle | undefined;
  readonly #buffer = Buffer.alloc(CHUNK);

  constructor(
    readonly file: string,
    private readonly signal: AbortSignal,
  ) {}

  /** Writes what has been added since the last call. @returns false when there is no such file */
  async copyNew(): Promise<boolean> {
    this.#handle ??= await openIfPresent(this.file);
    if (!this.#handle) return false;
    for (;;) {
      const { bytesRead } = await this.#handle.read(this.#buffer, 0, CHUNK, null);
      if (bytesRead === 0 || this.signal.aborted) return true;
      const isTaken = process.stdout.write(Buffer.from(this.#buffer.subarray(0, bytesRead)));
      if (!isTaken) await once(process.stdout, 'drain', { signal: this.signal });
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
