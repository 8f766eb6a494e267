import { closeSync, fstatSync, mkdirSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '@nodepool/zk-protocol';

/** Most text kept back while the file cannot be written, e.g. on a full disk. Older text is dropped first. */
const KEPT_CHARACTERS = 1 << 20;

/** Decides before a write whether the current file is put aside, and moves it. */
export interface Rotation {
  /** @param size - bytes in the file now */
  isDue(size: number, timeMs: number): boolean;
  /** Moves the file away; it is closed meanwhile. */
  rotate(file: string, timeMs: number): void;
}

/** What a {@link FileWriter} may be told. */
export interface FileWriterOptions {
  clock: Pick<Clock, 'now'>;
  rotation?: Rotation | undefined;
  /** Called after the file was opened anew because another program had moved or removed it. */
  onReopen?: (() => void) | undefined;
  /** Called when text cannot be written, once until it can be again. */
  onError?: ((error: unknown) => void) | undefined;
}

/**
 * Appends lines to a file. Lines of one turn of the event loop go out in one write. Before it, the file is looked at:
 * when logrotate or a person moved or removed it, a new one is opened under the name.
 */
export class FileWriter {
  readonly #file: string;
  readonly #options: FileWriterOptions;
  #descriptor: number;
  #identity = '';
  #size = 0;
  #pending: string[] = [];
  #pendingCharacters = 0;
  #isScheduled = false;
  #isFailing = false;

  /** @throws the system's error when the file cannot be opened */
  constructor(file: string, options: FileWriterOptions) {
    this.#file = file;
    this.#options = options;
    this.#descriptor = this.#open();
  }

  /** Takes one or more lines without the last line end. */
  write(text: string): void {
    this.#pending.push(text, '\n');
    this.#pendingCharacters += text.length + 1;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.flush());
  }

  /** Writes at once what is waiting. */
  flush(): void {
    this.#isScheduled = false;
    if (this.#pending.length === 0 || this.#descriptor === -1) return;
    try {
      this.#reopenWhenMoved();
      if (this.#options.rotation?.isDue(this.#size, this.#options.clock.now())) this.#rotate(this.#options.rotation);
      this.#writeAll(Buffer.from(this.#pending.join('')));
      this.#pending = [];
      this.#pendingCharacters = 0;
      this.#isFailing = false;
    } catch (error) {
      this.#keepWithinBounds();
      if (!this.#isFailing) this.#options.onError?.(error);
      this.#isFailing = true;
    }
  }

  /** Writes what is waiting and closes. Later lines are lost. */
  close(): void {
    this.flush();
    if (this.#descriptor !== -1) closeSync(this.#descriptor);
    this.#descriptor = -1;
  }

  #open(): number {
    mkdirSync(dirname(this.#file), { recursive: true });
    const descriptor = openSync(this.#file, 'a', 0o640);
    const { dev, ino, size } = fstatSync(descriptor);
    this.#identity = `${dev}:${ino}`;
    this.#size = size;
    return descriptor;
  }

  #reopenWhenMoved(): void {
    const found = statSync(this.#file, { throwIfNoEntry: false });
    if (found !== undefined && `${found.dev}:${found.ino}` === this.#identity) {
      this.#size = found.size;
      return;
    }
    const fresh = this.#open();
    closeSync(this.#descriptor);
    this.#descriptor = fresh;
    this.#options.onReopen?.();
  }

  #rotate(rotation: Rotation): void {
    rotation.rotate(this.#file, this.#options.clock.now());
    const fresh = this.#open();
    closeSync(this.#descriptor);
    this.#descriptor = fresh;
  }

  #writeAll(bytes: Buffer): void {
    for (let done = 0; done < bytes.length;) done += writeSync(this.#descriptor, bytes, done);
  }

  #keepWithinBounds(): void {
    while (this.#pendingCharacters > KEPT_CHARACTERS && this.#pending.length > 0) {
      this.#pendingCharacters -= this.#pending.shift()?.length ?? 0;
    }
  }
}

/** Puts the file aside as `file.1` when it has grown to a size, keeping so many old ones. `0` keeps none: it is never put aside. */
export function rotateBySize(maxBytes: number, backupCount: number): Rotation {
  return {
    isDue: (size) => maxBytes > 0 && backupCount > 0 && size >= maxBytes,
    rotate(file) {
      rmSync(`${file}.${backupCount}`, { force: true });
      for (let number = backupCount - 1; number >= 1; number--)
        moveIfThere(`${file}.${number}`, `${file}.${number + 1}`);
      moveIfThere(file, `${file}.1`);
    },
  };
}

function moveIfThere(from: string, to: string): void {
  if (statSync(from, { throwIfNoEntry: false }) !== undefined) renameSync(from, to);
}
