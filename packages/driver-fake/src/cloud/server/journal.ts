import { closeSync, existsSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { CloudRecord, CloudRecords } from '../model/records.js';

/** Obsolete lines after which the file is rewritten. */
const SPARE_LINES = 20_000;
const FILE = 'cloud.journal';

/**
 * Stores a cloud on disk: one line `[key, record]` for each change, with occasional compaction. A change survives a crash
 * of the process, but not of the machine, as nothing is synced.
 */
export class Journal implements CloudRecords {
  readonly #file: string;
  readonly #records = new Map<string, CloudRecord>();
  /** `undefined`: closed. */
  #fd: number | undefined;
  #lines = 0;

  /** @param dir - must exist and be private to this process */
  constructor(dir: string) {
    this.#file = join(dir, FILE);
    // The last line has no newline: it is empty, or an unacknowledged write that a crash cut short.
    const lines = existsSync(this.#file) ? readFileSync(this.#file, 'utf8').split('\n').slice(0, -1) : [];
    for (const line of lines) {
      // Written by this class, in a directory that only its user can write to.
      const [key, record] = JSON.parse(line) as [string, CloudRecord | null];
      if (record) this.#records.set(key, record);
      else this.#records.delete(key);
    }
    this.#rewrite();
  }

  values(): MapIterator<CloudRecord> {
    return this.#records.values();
  }

  set(key: string, record: CloudRecord): Map<string, CloudRecord> {
    this.#records.set(key, record);
    this.#append(key, record);
    return this.#records;
  }

  delete(key: string): boolean {
    const existed = this.#records.delete(key);
    if (existed) this.#append(key, null);
    return existed;
  }

  /** Closes the file. Later changes are not stored. */
  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  #append(key: string, record: CloudRecord | null): void {
    if (this.#fd === undefined) return;
    writeAll(this.#fd, [[key, record]]);
    if (++this.#lines > SPARE_LINES + 2 * this.#records.size) this.#rewrite();
  }

  /** Replaces the file by one with the current records only. */
  #rewrite(): void {
    const temporary = `${this.#file}.new`;
    rmSync(temporary, { force: true });
    const fd = openSync(temporary, 'ax', 0o600);
    writeAll(fd, [...this.#records]);
    renameSync(temporary, this.#file);
    this.close();
    this.#fd = fd;
    this.#lines = this.#records.size;
  }
}

function writeAll(fd: number, entries: readonly (readonly [string, CloudRecord | null])[]): void {
  const bytes = Buffer.from(entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  for (let offset = 0; offset < bytes.length;) offset += writeSync(fd, bytes, offset);
}
