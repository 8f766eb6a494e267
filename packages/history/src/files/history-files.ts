import { createReadStream, createWriteStream } from 'node:fs';
import { open, readdir, rename, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Logger } from '@nodepool/core';
import { checkOwnDirectory, type Clock, makeDirectory } from '@nodepool/zk-protocol';
import { encodeLine, type PastLine } from '../record/event.js';
import { listHistoryFiles } from './stored-files.js';

/** The history is divided into about this many files by age and size; trimming deletes whole files. */
const FILES = 10;
const UNFINISHED = /^\d+-[0-9a-f]+\.jsonl\.gz\.new$/;
/** So many files go for their age with each new one: a clock that is weeks ahead for a moment does not remove the history. */
const OLD_AT_ONCE = 2;
/** Limits how much history is not compressed yet. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** Limits the queue while the disk hangs; further lines are dropped. */
const MAX_WAITING_LINES = 50_000;
/** Pause after a failed write. */
const RETRY_MS = 10_000;

/** Directory and limits of the history. */
export interface HistoryPlace {
  readonly directory: string;
  readonly maxBytes: number;
  readonly maxAgeMs: number;
}

/** Options of {@link HistoryFiles}. */
export interface HistoryFilesOptions extends HistoryPlace {
  /** Hexadecimal id of this process; processes with different ids may share the directory. */
  readonly run: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Removes partly compressed files of processes that were killed. */
async function removeUnfinished(directory: string, run: string): Promise<void> {
  const unfinished = (await readdir(directory)).filter((name) => UNFINISHED.test(name) && !name.includes(run));
  await Promise.all(unfinished.map((name) => rm(join(directory, name), { force: true })));
}

/** A failure to write the history, with the times of its first and latest occurrence in ms since the epoch. */
export interface WriteFailure {
  readonly error: NodeJS.ErrnoException;
  readonly sinceMs: number;
  readonly lastMs: number;
}

/**
 * Appends lines to the newest history file and deletes the oldest files. Lines that cannot be written are dropped and
 * counted: a full disk must not stop a launcher.
 */
export class HistoryFiles {
  readonly #options: HistoryFilesOptions;
  #file: { path: string; handle: FileHandle; bytes: number; sinceMs: number } | undefined;
  #compressing: Promise<void> | undefined;
  #lastMs = 0;
  #failure: WriteFailure | undefined;
  #retryAtMs = 0;
  #dropped = 0;
  #waiting = 0;
  /** The latest write; each write starts when the one before it has ended. */
  #last: Promise<void> = Promise.resolve();

  constructor(options: HistoryFilesOptions) {
    this.#options = options;
  }

  /** Lines that could not be written. */
  get dropped(): number {
    return this.#dropped;
  }

  /** The current failure; `undefined` if the last write succeeded. */
  get failure(): WriteFailure | undefined {
    return this.#failure;
  }

  /** Resolves when the lines are written or dropped. Never rejects. */
  append(lines: readonly PastLine[]): Promise<void> {
    if (this.#waiting > MAX_WAITING_LINES) {
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
    if (clock.now() < this.#retryAtMs) {
      this.#dropped += lines.length;
      return;
    }
    try {
      const file = await this.#current();
      const text = lines.map((line) => `${encodeLine(line, file.sinceMs)}\n`).join('');
      const bytes = Buffer.from(text);
      await file.handle.appendFile(bytes);
      file.bytes += bytes.length;
      if (this.#failure) logger.info('Resumed writing the history', { directory, dropped: this.#dropped });
      this.#failure = undefined;
    } catch (error) {
      this.#dropped += lines.length;
      this.#retryAtMs = clock.now() + RETRY_MS;
      if (!this.#failure) logger.warn('Failed to write the history; dropping its lines', { directory, error });
      const lastMs = clock.now();
      this.#failure = { error: error as NodeJS.ErrnoException, sinceMs: this.#failure?.sinceMs ?? lastMs, lastMs };
      const { path, bytes } = this.#file ?? {};
      await this.#closeFile(); // a partly written line must be the last of its file
      // on a full disk each attempt would leave another empty file
      if (path !== undefined && bytes === 0) await this.#removeEmpty(path);
    }
  }

  async #removeEmpty(path: string): Promise<void> {
    try {
      await rm(path, { force: true });
    } catch (error) {
      this.#options.logger.debug('Failed to remove an empty history file', { path, error });
    }
  }

  async #current() {
    const { clock, maxBytes, maxAgeMs, directory, run } = this.#options;
    const nowMs = clock.now();
    const file = this.#file;
    if (file && file.bytes < Math.min(MAX_FILE_BYTES, maxBytes / FILES) && nowMs - file.sinceMs < maxAgeMs / FILES)
      return file;
    await this.#closeFile();
    await this.#compressing;
    checkOwnDirectory(directory, 'choose a directory that only this user may write to with --state-dir');
    await makeDirectory(directory, 0o700);
    await this.#trim();
    if (file) this.#compress(file.path);
    // the name must be unique even for two files begun within one millisecond
    const sinceMs = (this.#lastMs = Math.max(nowMs, this.#lastMs + 1));
    const path = join(directory, `${sinceMs}-${run}.jsonl`);
    return (this.#file = { path, handle: await open(path, 'a', 0o600), bytes: 0, sinceMs });
  }

  /** Compresses a finished file in the background. Readers use the original until the compressed file is complete. */
  #compress(path: string): void {
    const compressed = `${path}.gz`;
    const output = createWriteStream(`${compressed}.new`, { mode: 0o600 });
    this.#compressing = pipeline(createReadStream(path), createGzip({ level: 1 }), output)
      .then(() => rename(`${compressed}.new`, compressed))
      .then(() => rm(path, { force: true }))
      .catch(() => rm(`${compressed}.new`, { force: true }).catch(() => undefined)); // the file stays uncompressed
  }

  async #trim(): Promise<void> {
    const { directory, clock, maxBytes, maxAgeMs } = this.#options;
    await removeUnfinished(directory, this.#options.run);
    const files = await listHistoryFiles(directory);
    let bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    for (const [index, file] of files.entries()) {
      const isOld = index < OLD_AT_ONCE && clock.now() - file.beganMs > maxAgeMs + maxAgeMs / FILES;
      if (!isOld && bytes <= maxBytes - maxBytes / FILES) continue;
      await rm(file.path, { force: true });
      bytes -= file.bytes;
    }
  }

  async #closeFile(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.handle.close().catch(() => undefined); // its lines were written or counted as dropped
  }
}
