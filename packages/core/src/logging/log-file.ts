import { closeSync, fstatSync, openSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { Writable } from 'node:stream';
import { type Clock, makeDirectorySync } from '@nodepool/zk-protocol';
import type { Rotation } from './rotation.js';

/** Most text kept back while the file cannot be written, e.g. on a full disk. Older lines are dropped first. */
const KEPT_BYTES = 1 << 20;
const LINE_END = 10;
/** How long lines may still go to a file after another program moved it; a look at each write would cost more than the write. */
const LOOK_MS = 100;

/** What a {@link LogFile} may be told. */
export interface LogFileOptions {
  clock: Pick<Clock, 'now'>;
  rotation?: Rotation | undefined;
  /** Called after the file was opened anew because another program had moved or removed it. */
  onReopen?: (() => void) | undefined;
  /** Called when text cannot be written, once until it can be again. */
  onError?: ((error: unknown) => void) | undefined;
}

/**
 * The stream below winston's stream transport when lines go to a file. It does what winston's file transports do not: it
 * notices that logrotate or a person moved the file, continues after a full disk, and can be flushed before an exit.
 * Lines of one turn of the event loop go out in one write. Never emits `error`.
 */
export class LogFile extends Writable {
  readonly #file: string;
  readonly #options: LogFileOptions;
  #descriptor: number;
  #identity = '';
  #size = 0;
  #pending: string[] = [];
  #unwritten = Buffer.alloc(0);
  #isScheduled = false;
  #isFailing = false;
  #lookedAtMs = -Infinity;

  /** @throws the system's error when the file cannot be opened */
  constructor(file: string, options: LogFileOptions) {
    super({ decodeStrings: false });
    this.#file = file;
    this.#options = options;
    this.#descriptor = this.#open();
  }

  override _write(text: string, _encoding: string, done: () => void): void {
    this.#pending.push(text);
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      setImmediate(() => this.flush());
    }
    done();
  }

  /** Writes at once what is waiting. */
  flush(): void {
    this.#isScheduled = false;
    if (this.#descriptor === -1) return;
    this.#gather();
    if (this.#unwritten.length === 0) return;
    try {
      if (this.#isFailing || this.#isLookDue()) this.#reopenWhenMoved();
      if (this.#options.rotation?.isDue(this.#size, this.#options.clock.now())) this.#rotate(this.#options.rotation);
      this.#writeAll();
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#options.onError?.(error);
      this.#isFailing = true;
    }
  }

  /** Writes what is waiting and closes. Later lines are lost. */
  close(): void {
    this.#lookedAtMs = -Infinity;
    this.flush();
    if (this.#descriptor !== -1) closeSync(this.#descriptor);
    this.#descriptor = -1;
  }

  #open(): number {
    makeDirectorySync(dirname(this.#file));
    const descriptor = openSync(this.#file, 'a', 0o640);
    const { dev, ino, size } = fstatSync(descriptor);
    this.#identity = `${dev}:${ino}`;
    this.#size = size;
    return descriptor;
  }

  #openAnew(): void {
    const fresh = this.#open();
    closeSync(this.#descriptor);
    this.#descriptor = fresh;
  }

  #isLookDue(): boolean {
    const sinceMs = this.#options.clock.now() - this.#lookedAtMs;
    return sinceMs >= LOOK_MS || sinceMs < 0;
  }

  #reopenWhenMoved(): void {
    this.#lookedAtMs = this.#options.clock.now();
    const found = statSync(this.#file, { throwIfNoEntry: false });
    if (found !== undefined && `${found.dev}:${found.ino}` === this.#identity) {
      this.#size = found.size;
      return;
    }
    this.#openAnew();
    this.#options.onReopen?.();
  }

  #rotate(rotation: Rotation): void {
    rotation.rotate(this.#file, this.#options.clock.now());
    this.#openAnew();
  }

  /** What was written of a batch before the disk was full is not written again. */
  #writeAll(): void {
    while (this.#unwritten.length > 0) {
      const written = writeSync(this.#descriptor, this.#unwritten);
      this.#unwritten = this.#unwritten.subarray(written);
      this.#size += written;
    }
  }

  /** Puts the lines of this turn behind those that could not be written, as far as there is room. */
  #gather(): void {
    const fresh = Buffer.from(this.#pending.splice(0).join(''));
    this.#unwritten = this.#unwritten.length === 0 ? fresh : Buffer.concat([this.#unwritten, fresh]);
    const excess = this.#unwritten.length - KEPT_BYTES;
    if (this.#isFailing && excess > 0)
      this.#unwritten = this.#unwritten.subarray(this.#unwritten.indexOf(LINE_END, excess) + 1);
  }
}
