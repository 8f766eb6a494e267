import { once } from 'node:events';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { StringDecoder } from 'node:string_decoder';
import { forOutput } from '../command/context.js';

const CHUNK = 65_536;

/** A growing log, in a file or at a builder. */
export interface Tail {
  /**
   * Copies new text to standard output.
   * @param isLast - nothing more will be written
   * @returns false when there is no such log that this user may read
   */
  copyNew(isLast?: boolean): Promise<boolean>;
  close(): Promise<void>;
}

/** Writes parts of a log, cut at any byte, with back pressure. */
export class LogOutput {
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';

  constructor(private readonly signal: AbortSignal) {}

  async write(part: Buffer): Promise<void> {
    if (process.stdout.isTTY) await this.#show(this.#decoder.write(part), false);
    else await this.#put(part);
  }

  /** Writes the rest: half a character, or a carriage return. */
  async end(): Promise<void> {
    if (!this.signal.aborted) await this.#show(this.#decoder.end(), true);
  }

  /** Keeps a trailing carriage return for the next part: it may belong to a line end. */
  async #show(text: string, isLast: boolean): Promise<void> {
    const all = this.#rest + text;
    this.#rest = !isLast && all.endsWith('\r') ? '\r' : '';
    await this.#put(forOutput(all.slice(0, all.length - this.#rest.length)));
  }

  async #put(part: Buffer | string): Promise<void> {
    if (part.length > 0 && !process.stdout.write(part)) await once(process.stdout, 'drain', { signal: this.signal });
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
    await this.#output.end();
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
