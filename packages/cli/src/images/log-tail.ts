import { once } from 'node:events';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { StringDecoder } from 'node:string_decoder';
import { forOutput } from '../command/context.js';

const CHUNK = 65_536;

/** A log that grows, wherever it is. */
export interface Tail {
  /**
   * Writes what has been added since the last call to standard output.
   * @param isLast - nothing more will be written
   * @returns false when there is no such log that this user may read
   */
  copyNew(isLast?: boolean): Promise<boolean>;
  close(): Promise<void>;
}

/** Writes parts of a log, which may end anywhere, no faster than they are taken. */
export class LogOutput {
  readonly #decoder = new StringDecoder('utf8');

  constructor(private readonly signal: AbortSignal) {}

  async write(part: Buffer): Promise<void> {
    const text = process.stdout.isTTY ? forOutput(this.#decoder.write(part)) : part;
    if (!process.stdout.write(text)) await once(process.stdout, 'drain', { signal: this.signal });
  }
}

/** A log in a file of this machine. */
export class LogTail implements Tail {
  #handle: FileHandle | undefined;
  readonly #buffer = Buffer.alloc(CHUNK);
  readonly #output: LogOutput;

  constructor(
    readonly file: string,
    private readonly signal: AbortSignal,
  ) {
    this.#output = new LogOutput(signal);
  }

  async copyNew(): Promise<boolean> {
    this.#handle ??= await openIfReadable(this.file);
    if (!this.#handle) return false;
    for (;;) {
      const { bytesRead } = await this.#handle.read(this.#buffer, 0, CHUNK, null);
      if (bytesRead === 0 || this.signal.aborted) return true;
      await this.#output.write(Buffer.from(this.#buffer.subarray(0, bytesRead)));
    }
  }

  async close(): Promise<void> {
    await this.#handle?.close();
  }
}

async function openIfReadable(file: string): Promise<FileHandle | undefined> {
  try {
    return await open(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EACCES') return undefined; // The builder may show it to this user.
    throw error;
  }
}
