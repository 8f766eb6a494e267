import type { Logger } from '@nodepool/core';
import { LOG_PART_BYTES } from '@nodepool/core/service';
import { CliError } from '../command/errors.js';
import type { RecordSource } from '../connection/fetch-records.js';
import { asBytes, askBuilder, builderUrls } from './ask-builders.js';
import { LogOutput, LogTail } from './log-tail.js';
import type { Tail } from './log-tail.js';

/** Interval of requests for new lines, and of searches for a log that no builder has yet. */
const ASK_MS = 1_000;
const FIND_MS = 3_000;
/** Limits a program at the address of a builder that sends without end. */
const LARGEST_LOG_BYTES = 256 * 1024 * 1024;

/** Where the log of a build is. */
export interface BuildLog {
  /** `<image>-<build id>`. */
  readonly build: string;
  /** On this machine, if it is here. */
  readonly file: string;
  /** For builders that demand one. */
  readonly token: string | undefined;
}

/** A log that a builder on another machine writes, read through its web server. */
export class RemoteLogTail implements Tail {
  #url: string | undefined;
  #offset = 0;
  #nextMs = 0;
  readonly #output: LogOutput;
  readonly #logger: Pick<Logger, 'warn'>;

  /** @param log - its build is `<image>-<build id>` */
  constructor(
    private readonly source: RecordSource,
    private readonly log: Omit<BuildLog, 'file'>,
    private readonly signal: AbortSignal,
  ) {
    this.#output = new LogOutput(signal);
    this.#logger = warnOnce(source.logger);
  }

  /** @param isLast - nothing more will be written: asks although it has just asked */
  async copyNew(isLast = false): Promise<boolean> {
    const { clock } = this.source;
    if (clock.now() < this.#nextMs && !isLast) return this.#url !== undefined;
    this.#url ??= await this.#find();
    while (this.#url !== undefined && !this.signal.aborted) {
      const part = await this.#ask(this.#url);
      if (!part)
        this.#url = undefined; // The builder may have been restarted at another address.
      else if (await this.#show(part)) break;
    }
    this.#nextMs = clock.now() + (this.#url === undefined ? FIND_MS : ASK_MS);
    return this.#url !== undefined;
  }

  close(): Promise<void> {
    return this.#output.end();
  }

  async #find(): Promise<string | undefined> {
    for (const url of await builderUrls(this.source)) if (await this.#ask(url)) return url;
    return undefined;
  }

  #ask(url: string): Promise<Buffer | undefined> {
    const path = `/image-log?${new URLSearchParams({ build: this.log.build, offset: String(this.#offset) }).toString()}`;
    return askBuilder({ logger: this.#logger }, url, path, asBytes, this.log.token);
  }

  /** @returns whether this was the end so far */
  async #show(part: Buffer): Promise<boolean> {
    this.#offset += part.length;
    if (this.#offset > LARGEST_LOG_BYTES) {
      const what = `The log of ${this.log.build} from ${this.#url ?? 'its builder'} has more than ${LARGEST_LOG_BYTES} bytes`;
      throw new CliError(`${what}; read the rest in the build-log-dir of its builder`);
    }
    await this.#output.write(part);
    return part.length < LOG_PART_BYTES;
  }
}

/** Logs each warning once, although builders are polled. */
function warnOnce(logger: Logger): Pick<Logger, 'warn'> {
  const written = new Set<string>();
  return {
    warn(message) {
      if (!written.has(message)) logger.warn(message);
      written.add(message);
    },
  };
}

/** The log of a build: of this machine where it is here, else from its builder. */
export class BuildLogTail implements Tail {
  readonly #local: LogTail;
  readonly #remote: RemoteLogTail;

  constructor(source: RecordSource, log: BuildLog, signal: AbortSignal) {
    this.#local = new LogTail(log.file, signal);
    this.#remote = new RemoteLogTail(source, log, signal);
  }

  /** @param isLast - nothing more will be written */
  async copyNew(isLast = false): Promise<boolean> {
    return (await this.#local.copyNew()) || this.#remote.copyNew(isLast);
  }

  async close(): Promise<void> {
    await this.#local.close();
    await this.#remote.close();
  }
}
