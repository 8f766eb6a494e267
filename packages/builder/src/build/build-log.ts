import { open, type FileHandle } from 'node:fs/promises';
import type { Logger } from '@nodepool/core';
import type { SecretMask } from '../tool/secrets.js';

const TAIL_LINES = 3;
const MAX_TAIL = 400;

/**
 * The log of one build, written while the tool runs. A log that cannot be written, e.g. on a full disk, is said once and
 * does not end the build.
 */
export class BuildLog {
  readonly #tail: string[] = [];
  #file: FileHandle | undefined;
  /** The end of a line that is still being written: a secret may continue in what follows. */
  #begun = '';

  private constructor(
    readonly path: string,
    file: FileHandle,
    private readonly mask: SecretMask,
    private readonly logger: Logger,
  ) {
    this.#file = file;
  }

  /** Not for every user: what a tool prints may be confidential. */
  static async open(path: string, mask: SecretMask, logger: Logger): Promise<BuildLog> {
    return new BuildLog(path, await open(path, 'w', 0o640), mask, logger);
  }

  /** The last lines, for saying why a build failed. */
  get tail(): string {
    return this.#tail.join(' | ').slice(-MAX_TAIL);
  }

  /** Writes what the tool has said: a line, or a part of a long one. */
  async write(part: string): Promise<void> {
    const text = this.mask.hide(this.#begun + part);
    const end = text.endsWith('\n') ? text.length : Math.max(0, text.length - this.mask.longest);
    this.#begun = text.slice(end);
    await this.#writeMasked(text.slice(0, end));
  }

  /** Writes what is not of the tool. */
  async conclude(text: string): Promise<void> {
    await this.#writeMasked(this.#begun);
    this.#begun = '';
    await this.#append(text);
  }

  async close(): Promise<void> {
    if (this.#begun !== '') await this.conclude('');
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }

  async #writeMasked(text: string): Promise<void> {
    if (text.trim() !== '') this.#tail.push(text.trim());
    if (this.#tail.length > TAIL_LINES) this.#tail.shift();
    await this.#append(text);
  }

  async #append(text: string): Promise<void> {
    if (text === '') return;
    try {
      await this.#file?.appendFile(text);
    } catch (error) {
      const file = this.#file;
      this.#file = undefined;
      this.logger.error('Build log cannot be written; the build continues without it', { file: this.path, error });
      await file?.close();
    }
  }
}
