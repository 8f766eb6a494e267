import { closeSync, existsSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { entriesOf, stateOf, type CloudState, type StateEntry } from '../model/state.js';

/** Changes the file may hold beyond what is needed before it is written anew. */
const SPARE_LINES = 20_000;
const FILE = 'cloud.ndjson';

/**
 * Keeps a cloud on disk: one line per change, and a fresh file now and then. What was flushed survives the death of the
 * process, though not that of the machine: nothing waits for the disk.
 */
export class Journal {
  readonly #file: string;
  #fd: number;
  #lines = 0;
  readonly #instances = new Map<string, StateEntry>();
  #others: StateEntry[] = [];

  private constructor(file: string) {
    this.#file = file;
    this.#fd = openSync(file, 'a', 0o600);
  }

  /**
   * Opens the journal of a directory, which must exist and be ours alone.
   * @returns it, and what an earlier cloud left; `undefined` when this is the first
   */
  static open(dir: string): { journal: Journal; state: CloudState | undefined } {
    const file = join(dir, FILE);
    const state = existsSync(file) ? stateOf(readEntries(readFileSync(file, 'utf8'))) : undefined;
    const journal = new Journal(file);
    if (state) journal.rewrite(state);
    return { journal, state };
  }

  /** Notes a change; it is on disk after the next `flush`. Of several changes of one instance only the last counts. */
  add(entry: StateEntry): void {
    if (entry.kind === 'instance') this.#instances.set(entry.record.instance.id, entry);
    else if (entry.kind === 'gone') this.#instances.set(entry.id, entry);
    else this.#others.push(entry);
  }

  /**
   * Writes what was noted. Call it before anybody is told.
   * @param cloud - read when the file has grown so much that it is written anew
   */
  flush(cloud: { readonly usage: { readonly instances: number }; readonly state: CloudState }): void {
    const entries = [...this.#others, ...this.#instances.values()];
    if (entries.length === 0) return;
    this.#others = [];
    this.#instances.clear();
    writeAll(this.#fd, entries);
    this.#lines += entries.length;
    if (this.#lines > SPARE_LINES + 2 * cloud.usage.instances) this.rewrite(cloud.state);
  }

  /** Replaces the file by one that holds just this. */
  rewrite(state: CloudState): void {
    const temporary = `${this.#file}.new`;
    rmSync(temporary, { force: true });
    const fd = openSync(temporary, 'ax', 0o600);
    const entries = [...entriesOf(state)];
    writeAll(fd, entries);
    renameSync(temporary, this.#file);
    closeSync(this.#fd);
    this.#fd = fd;
    this.#lines = 0;
  }

  /** Closes the file. */
  close(): void {
    closeSync(this.#fd);
  }
}

function writeAll(fd: number, entries: readonly StateEntry[]): void {
  const bytes = Buffer.from(entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  for (let offset = 0; offset < bytes.length;) offset += writeSync(fd, bytes, offset);
}

/** A line cut short by the death of the process is the last one, and was not acknowledged. */
function* readEntries(text: string): Generator<StateEntry> {
  const lines = text.split('\n');
  const unfinished = lines.pop();
  for (const line of lines) {
    // Written by this same class, in a directory only its user can write to.
    if (line !== '') yield JSON.parse(line) as StateEntry;
  }
  void unfinished;
}
