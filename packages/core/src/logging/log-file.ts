import { closeSync, fstatSync, openSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { type CancelTimer, checkSharedPlace, type Clock, makeDirectorySync } from '@nodepool/zk-protocol';
import type { Rotation } from './rotation.js';

/** Most text kept back while the file cannot be written, e.g. on a full disk. Older lines are dropped first. */
const KEPT_BYTES = 1 << 20;
const LINE_END = 10;
/** How long lines wait for others, so that one write takes them all. */
const GATHER_MS = 50;
/** So much text waits for nothing. */
const GATHER_LENGTH = 1 << 16;
/** How long lines may still go to a file after another program moved it; a look at each write would cost more than the write. */
const LOOK_MS = 100;

/** Options of a {@link LogFile}. */
export interface LogFileOptions {
  clock: Pick<Clock, 'now' | 'setTimer'>;
  rotation?: Rotation | undefined;
  /** Called after the file was reopened because another program had moved or removed it. */
  onReopen?: (() => void) | undefined;
  /** Called when text cannot be written, once until it can be again. */
  onError?: ((error: unknown) => void) | undefined;
}

/**
 * What a winston transport writes to when lines go to a file. It does what winston's file transports do not: it notices
 * that logrotate or a person moved the file, continues after a full disk, and can be flushed before an exit. Lines are
 * gathered for a moment and go out in one write; urgent ones take those before them along at once. Throws nothing later.
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
  #isFailing = false;
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

  /** Writes at once what is waiting. */
  flush(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
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
    checkSharedPlace(this.#file, 'choose a log file that other users cannot exchange');
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

  /** Puts the waiting lines behind those that could not be written, as far as there is room. */
  #gather(): void {
    const fresh = Buffer.from(this.#pending.join(''));
    this.#pending = [];
    this.#pendingLength = 0;
    this.#unwritten = this.#unwritten.length === 0 ? fresh : Buffer.concat([this.#unwritten, fresh]);
    const excess = this.#unwritten.length - KEPT_BYTES;
    if (this.#isFailing && excess > 0)
      this.#unwritten = this.#unwritten.subarray(this.#unwritten.indexOf(LINE_END, excess) + 1);
  }
}
