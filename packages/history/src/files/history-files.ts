import { createReadStream, createWriteStream } from 'node:fs';
import { open, readdir, rename, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Logger } from '@nodepool/core';
import { checkOwnDirectory, type Clock, makeDirectory } from '@nodepool/zk-protocol';
import { encodeLine, type PastLine } from '../record/event.js';
import { listHistoryFiles } from './stored-files.js';

/** Parts of the record by their age and size: what is deleted goes part by part. */
const PARTS = 10;
const UNFINISHED = /^\d+-[0-9a-f]+\.jsonl\.gz\.new$/;
/** Parts are no larger, so that little is left uncompressed. */
const LARGEST_PART = 4 * 1024 * 1024;
/** Lines that wait for a disk that hangs; more are dropped. */
const MOST_WAITING = 50_000;
/** After an error nothing is written for a while. */
const REST_MS = 10_000;

/** Where the record is and how large it may grow. */
export interface HistoryPlace {
  readonly directory: string;
  readonly maxBytes: number;
  readonly maxAgeMs: number;
}

/** What {@link HistoryFiles} are made with. */
export interface HistoryFilesOptions extends HistoryPlace {
  /** Tells this process from others that wrote there, hexadecimal. */
  readonly run: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What processes have left that were killed while they compressed a part. */
async function removeUnfinished(directory: string, run: string): Promise<void> {
  const left = (await readdir(directory)).filter((name) => UNFINISHED.test(name) && !name.includes(run));
  await Promise.all(left.map((name) => rm(join(directory, name), { force: true })));
}

/** Why the record cannot be written, since when, and when that was last tried, ms since the epoch. */
export interface WriteFailure {
  readonly error: NodeJS.ErrnoException;
  readonly sinceMs: number;
  readonly lastMs: number;
}

/**
 * Appends lines to the newest part of the record and deletes the oldest parts. What cannot be written is counted and
 * dropped: a record is not worth a launcher.
 */
export class HistoryFiles {
  readonly #options: HistoryFilesOptions;
  #file: { path: string; handle: FileHandle; bytes: number; sinceMs: number } | undefined;
  #compressing: Promise<void> | undefined;
  #lastMs = 0;
  #failure: WriteFailure | undefined;
  #restUntilMs = 0;
  #dropped = 0;
  #waiting = 0;
  /** Calls follow one another. */
  #last: Promise<void> = Promise.resolve();

  constructor(options: HistoryFilesOptions) {
    this.#options = options;
  }

  /** Lines that could not be written. */
  get dropped(): number {
    return this.#dropped;
  }

  /** What keeps it from being written; `undefined`: nothing. */
  get failure(): WriteFailure | undefined {
    return this.#failure;
  }

  /** Resolves when the lines are written or dropped. Never rejects. */
  append(lines: readonly PastLine[]): Promise<void> {
    if (this.#waiting > MOST_WAITING) {
      this.#dropped += lines.length;
      return this.#last;
    }
    this.#waiting += lines.length;
    return (this.#last = this.#last.then(async () => {
      await this.#append(lines);
      this.#waiting -= lines.length;
    }));
  }

  async close(): Promise<void> {
    await this.#last;
    await this.#closeFile();
    await this.#compressing;
  }

  async #append(lines: readonly PastLine[]): Promise<void> {
    if (lines.length === 0) return;
    const { clock, logger, directory } = this.#options;
    if (clock.now() < this.#restUntilMs) {
      this.#dropped += lines.length;
      return;
    }
    try {
      const file = await this.#current();
      const text = lines.map((line) => `${encodeLine(line, file.sinceMs)}\n`).join('');
      const bytes = Buffer.from(text);
      await file.handle.appendFile(bytes);
      file.bytes += bytes.length;
      if (this.#failure) logger.info('The history is written again', { directory, dropped: this.#dropped });
      this.#failure = undefined;
    } catch (error) {
      this.#dropped += lines.length;
      this.#restUntilMs = clock.now() + REST_MS;
      if (!this.#failure)
        logger.warn('The history cannot be written; what happens meanwhile is not kept', { directory, error });
      const lastMs = clock.now();
      this.#failure = { error: error as NodeJS.ErrnoException, sinceMs: this.#failure?.sinceMs ?? lastMs, lastMs };
      const { path, bytes } = this.#file ?? {};
      await this.#closeFile(); // a line that was cut short ends its part
      // what has no whole line is nothing: on a full disk each attempt would leave such a file
      if (path !== undefined && bytes === 0) await this.#removeEmpty(path);
    }
  }

  async #removeEmpty(path: string): Promise<void> {
    try {
      await rm(path, { force: true });
    } catch (error) {
      this.#options.logger.debug('An empty part of the history stays, as it cannot be removed', { path, error });
    }
  }

  async #current() {
    const { clock, maxBytes, maxAgeMs, directory, run } = this.#options;
    const nowMs = clock.now();
    const file = this.#file;
    if (file && file.bytes < Math.min(LARGEST_PART, maxBytes / PARTS) && nowMs - file.sinceMs < maxAgeMs / PARTS)
      return file;
    await this.#closeFile();
    await this.#compressing;
    checkOwnDirectory(directory, 'choose a directory that only this user may write to with --state-dir');
    await makeDirectory(directory, 0o700);
    await this.#trim();
    if (file) this.#compress(file.path);
    // two parts of one millisecond would be one file
    const sinceMs = (this.#lastMs = Math.max(nowMs, this.#lastMs + 1));
    const path = join(directory, `${sinceMs}-${run}.jsonl`);
    return (this.#file = { path, handle: await open(path, 'a', 0o600), bytes: 0, sinceMs });
  }

  /** Until it is whole, the part is read as it was; one that is gone already is no loss. */
  #compress(path: string): void {
    const compressed = `${path}.gz`;
    const output = createWriteStream(`${compressed}.new`, { mode: 0o600 });
    this.#compressing = pipeline(createReadStream(path), createGzip({ level: 1 }), output)
      .then(() => rename(`${compressed}.new`, compressed))
      .then(() => rm(path, { force: true }))
      .catch(() => rm(`${compressed}.new`, { force: true }).catch(() => undefined)); // the part stays as it is
  }

  async #trim(): Promise<void> {
    const { directory, clock, maxBytes, maxAgeMs } = this.#options;
    await removeUnfinished(directory, this.#options.run);
    const files = await listHistoryFiles(directory);
    let bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    for (const file of files) {
      const isOld = clock.now() - file.beganMs > maxAgeMs + maxAgeMs / PARTS;
      if (!isOld && bytes <= maxBytes - maxBytes / PARTS) continue;
      await rm(file.path, { force: true });
      bytes -= file.bytes;
    }
  }

  async #closeFile(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.handle.close().catch(() => undefined); // its lines are written or counted as dropped
  }
}
