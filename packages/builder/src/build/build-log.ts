import { open, readdir, rm, stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { CancelTimer, Clock } from '@nodepool/zk-protocol';
import type { Logger } from '@nodepool/core';
import { parseBuildLogName } from '@nodepool/core/service';
import type { SecretMask } from '../tool/secrets.js';
import { FailureReader, type FailureTrace } from './failure-reader.js';

/** Lines are written in batches after this time, */
const BATCH_MS = 100;
/** or when a batch has this many characters. */
const BATCH_LENGTH = 65_536;

/** Options of a build log. */
export interface BuildLogOptions {
  readonly mask: SecretMask;
  readonly logger: Logger;
  readonly clock: Clock;
}

/**
 * The log of one build, written while the tool runs. A failure to write it, for example because of a full disk, is reported once
 * and does not end the build.
 */
export class BuildLog {
  readonly #failure = new FailureReader();
  #file: FileHandle | undefined;
  /** The end of a line that is still being written: a secret may continue in what follows. */
  #partial = '';
  /** Lines that are not in the file yet. */
  #batch = '';
  #writing: Promise<void> = Promise.resolve();
  #cancelTimer: CancelTimer | undefined;

  private constructor(
    readonly path: string,
    file: FileHandle,
    private readonly options: BuildLogOptions,
  ) {
    this.#file = file;
  }

  /**
   * Readable by its owner and group only, as the output may be confidential.
   * @throws the operating system's error, also if there is a file or a link already
   */
  static async open(path: string, options: BuildLogOptions): Promise<BuildLog> {
    return new BuildLog(path, await open(path, 'wx', 0o640), options);
  }

  /** Remembers the phase and last output of the tool, to explain a failure. */
  get failure(): FailureTrace {
    return this.#failure.trace;
  }

  /** Adds output of the tool: a line, or part of a long one. Waits only for a full batch. */
  async write(part: string): Promise<void> {
    const { mask } = this.options;
    const text = mask.hide(this.#partial + part);
    const end = text.endsWith('\n') ? text.length : Math.max(0, text.length - mask.longest);
    this.#partial = text.slice(end);
    await this.#writeMasked(text.slice(0, end));
  }

  /** Writes a line of the builder. */
  async conclude(text: string): Promise<void> {
    await this.#writeMasked(this.#partial);
    this.#partial = '';
    await this.#append(text);
  }

  async close(): Promise<void> {
    if (this.#partial !== '') await this.conclude('');
    await this.#flush();
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }

  async #writeMasked(text: string): Promise<void> {
    this.#failure.read(text);
    await this.#append(text);
  }

  async #append(text: string): Promise<void> {
    this.#batch += text;
    if (this.#batch.length >= BATCH_LENGTH) await this.#flush();
    else this.#cancelTimer ??= this.options.clock.setTimer(BATCH_MS, () => void this.#flush());
  }

  #flush(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    return (this.#writing = this.#writing.then(() => this.#writeBatch()));
  }

  async #writeBatch(): Promise<void> {
    const text = this.#batch;
    this.#batch = '';
    if (text === '') return;
    try {
      await this.#file?.appendFile(text);
    } catch (error) {
      const file = this.#file;
      this.#file = undefined;
      const fields = { file: this.path, error };
      this.options.logger.error('Failed to write the build log; the build continues without it', fields);
      await file?.close();
    }
  }
}

/**
 * Deletes the oldest logs of an image, by its exact name, before the next one is written.
 * @param retention - how many stay with the next one, which counts; negative: all
 */
export async function removeOldLogs(logDir: string, image: string, retention: number): Promise<void> {
  if (retention < 0) return;
  const names = (await readdir(logDir)).filter((name) => parseBuildLogName(name)?.image === image);
  const logs = await Promise.all(
    names.map(async (name) => ({ name, mtimeMs: (await stat(join(logDir, name))).mtimeMs })),
  );
  logs.sort((a, b) => b.mtimeMs - a.mtimeMs);
  for (const { name } of logs.slice(Math.max(retention - 1, 0))) await rm(join(logDir, name), { force: true });
}
