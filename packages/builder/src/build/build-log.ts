import { open, type FileHandle } from 'node:fs/promises';
import type { Logger } from '@nodepool/core';

/** Names of variables whose values are not written to logs even when they are short. */
const SECRET = /pass|secret|token|credential|auth|(?:^|_)key/i;
const LEAST_SECRET = 4;
/** Shorter values are words, numbers and switches: without them the log would say nothing. */
const LEAST_VALUE = 8;
/** Whose values stand in every second line of a log, and are no secret. */
const OPEN = /^(?:PATH|ELEMENTS_PATH|DIB_RELEASE)$/;
const TAIL_LINES = 3;
const MAX_TAIL = 400;

/**
 * The log of one build, written while the tool runs. A log that cannot be written, e.g. on a full disk, is said once and
 * does not end the build.
 */
export class BuildLog {
  readonly #secrets: readonly string[];
  readonly #tail: string[] = [];
  #file: FileHandle | undefined;

  private constructor(
    readonly path: string,
    file: FileHandle,
    env: Readonly<Record<string, string>>,
    private readonly logger: Logger,
  ) {
    this.#file = file;
    this.#secrets = Object.entries(env)
      .flatMap(([name, value]) => (isMasked(name, value) ? [value] : []))
      .sort((a, b) => b.length - a.length);
  }

  /** @param env - variables of the image, whose values are masked */
  static async open(path: string, env: Readonly<Record<string, string>>, logger: Logger): Promise<BuildLog> {
    return new BuildLog(path, await open(path, 'w', 0o644), env, logger);
  }

  /** The last lines, for saying why a build failed. */
  get tail(): string {
    return this.#tail.join(' | ').slice(-MAX_TAIL);
  }

  /** Writes what the tool has said. */
  async write(line: string): Promise<void> {
    const text = this.#secrets.reduce((masked, secret) => masked.replaceAll(secret, '********'), line);
    if (text.trim() !== '') this.#tail.push(text.trim());
    if (this.#tail.length > TAIL_LINES) this.#tail.shift();
    await this.conclude(text);
  }

  /** Writes what is not of the tool. */
  async conclude(text: string): Promise<void> {
    try {
      await this.#file?.appendFile(text);
    } catch (error) {
      this.logger.error('Build log cannot be written; the build continues without it', { file: this.path, error });
      await this.close();
    }
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }
}

function isMasked(name: string, value: string): boolean {
  if (OPEN.test(name)) return false;
  return value.length >= (SECRET.test(name) ? LEAST_SECRET : LEAST_VALUE);
}
