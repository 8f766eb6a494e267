import { closeSync, fstatSync, openSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { type CancelTimer, checkServiceFile, type Clock, makeDirectorySync, steadyNow } from '@nodepool/zk-protocol';
import { asError } from '../async/as-error.js';
import type { Rotation } from './rotation.js';

/** Maximum buffered text while the file cannot be written, e.g. on a full disk. The oldest lines are dropped first. */
const KEPT_BYTES = 1 << 20;
const LINE_END = 10;
/** How long lines are buffered, to combine them in one write. */
const GATHER_MS = 50;
/** Buffered text of this length is written immediately. */
const GATHER_LENGTH = 1 << 16;
/** Interval of checks whether another program moved the file. A check on each write would cost more than the write. */
const LOOK_MS = 100;

/** Options of a {@link LogFile}. */
export interface LogFileOptions {
  clock: Pick<Clock, 'now' | 'steadyNow' | 'setTimer'>;
  rotation?: Rotation | undefined;
  /** Called after the file is reopened because another program moved or removed it. */
  onReopen?: (() => void) | undefined;
  /** Called once when writing starts to fail. */
  onError?: ((error: unknown) => void) | undefined;
}

/** A log file that cannot be written. */
export interface LogFailure {
  readonly file: string;
  readonly error: Error;
}

/**
 * Log file behind a winston transport. Unlike winston's file transports, it reopens the file after logrotate or an operator
 * moved it, continues after a full disk, and can be flushed before exit. Lines are buffered briefly and combined in one
 * write; an urgent line flushes the buffer. Only the constructor throws.
 */
export class LogFile {
  readonly #file: string;
  readonly #options: LogFileOptions;
  #descriptor: number;
  #identity = '';
  #size = 0;
  #pending: string[] = [];
  #unwritten = Buffer.alloc(0);
  #pendingLength = 0;
  #cancelTimer: CancelTimer | undefined;
  /** What writing fails with. */
  #failure: Error | undefined;
  #lookedAtMs = -Infinity;

  /** @throws the system's error when the file cannot be opened */
  constructor(file: string, options: LogFileOptions) {
    this.#file = file;
    this.#options = options;
    this.#descriptor = this.#open();
  }

  write(text: string, isUrgent: boolean): void {
    this.#pending.push(text);
    this.#pendingLength += text.length;
    if (isUrgent || this.#pendingLength >= GATHER_LENGTH) this.flush();
    else this.#cancelTimer ??= this.#options.clock.setTimer(GATHER_MS, () => this.flush());
  }

  /** Writes buffered lines immediately. */
  flush(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#descriptor === -1) return;
    this.#gather();
    if (this.#unwritten.length === 0) return;
    try {
      if (this.#failure || this.#isLookDue()) this.#reopenWhenMoved();
      if (this.#options.rotation?.isDue(this.#size, this.#options.clock.now())) this.#rotate(this.#options.rotation);
      this.#writeAll();
      this.#failure = undefined;
    } catch (error) {
      if (!this.#failure) this.#options.onError?.(error);
      this.#failure = asError(error);
    }
  }

  /** Why lines cannot be written, as another try shows; `undefined`: they can. */
  get failure(): LogFailure | undefined {
    if (this.#failure) this.flush();
    return this.#failure && { file: this.#file, error: this.#failure };
  }

  /** Flushes buffered lines and closes the file. Later lines are lost. */
  close(): void {
    this.#lookedAtMs = -Infinity;
    this.flush();
    if (this.#descriptor !== -1) closeSync(this.#descriptor);
    this.#descriptor = -1;
  }

  #open(): number {
    checkServiceFile(this.#file, 'choose a log file that other users cannot exchange');
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
    return steadyNow(this.#options.clock) - this.#lookedAtMs >= LOOK_MS;
  }

  #reopenWhenMoved(): void {
    this.#lookedAtMs = steadyNow(this.#options.clock);
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

  /** Writes the batch. After a partial write, e.g. on a full disk, only the rest is retried. */
  #writeAll(): void {
    while (this.#unwritten.length > 0) {
      const written = writeSync(this.#descriptor, this.#unwritten);
      this.#unwritten = this.#unwritten.subarray(written);
      this.#size += written;
    }
  }

  /** Appends buffered lines to the text that could not be written, up to the size limit. */
  #gather(): void {
    const fresh = Buffer.from(this.#pending.join(''));
    this.#pending = [];
    this.#pendingLength = 0;
    this.#unwritten = this.#unwritten.length === 0 ? fresh : Buffer.concat([this.#unwritten, fresh]);
    const excess = this.#unwritten.length - KEPT_BYTES;
    if (this.#failure !== undefined && excess > 0)
      this.#unwritten = this.#unwritten.subarray(this.#unwritten.indexOf(LINE_END, excess) + 1);
  }
}
