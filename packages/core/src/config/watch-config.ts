import { type FSWatcher, watch } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { CancelTimer, Clock } from '@nodepool/zk-protocol';
import type { Logger } from '../contract/logger.js';

/** What {@link watchConfig} needs. */
export interface WatchConfigOptions {
  /** Main and secure file. A file need not exist. */
  files: readonly string[];
  /** Files that the configuration in force was read from besides. Read at each check: an added file is no change. */
  moreFiles?: () => readonly string[];
  clock: Clock;
  /** Called after any of the files changed, not more often than the quiet time allows, never while closed. */
  onChange: () => void;
  logger: Logger;
  /** How long files must have been quiet before a change counts. Default 100 ms. */
  quietMs?: number;
  /** Polling interval, in case a file system event is missed. Default 10,000 ms. */
  pollMs?: number;
}

/** Watches until closed. */
export interface ConfigWatcher {
  /** Looks now; resolves after `onChange` was called if anything changed since the last look. */
  check(): Promise<void>;
  close(): void;
}

/**
 * Tells when configuration files change: edits, replacement by renaming, and swapped symbolic links as with mounted
 * Kubernetes config maps. Start it before the first load, so that no change falls between.
 */
export async function watchConfig(options: WatchConfigOptions): Promise<ConfigWatcher> {
  const watcher = new FileWatcher(options);
  await watcher.start();
  return watcher;
}

class FileWatcher implements ConfigWatcher {
  readonly #options: WatchConfigOptions;
  readonly #directories = new Map<string, { identity: string; watcher: FSWatcher }>();
  /** By file. */
  #stamps: ReadonlyMap<string, string> = new Map();
  #closed = false;
  #cancelQuiet: CancelTimer | undefined;
  #restlessSince: number | undefined;
  #cancelPoll: CancelTimer | undefined;
  #checking: Promise<void> = Promise.resolve();

  constructor(options: WatchConfigOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    await this.#watchDirectories();
    this.#stamps = await this.#readStamps();
    this.#schedulePoll();
  }

  /** Looks run one after the other, so that none compares with a stamp another is replacing. */
  check(): Promise<void> {
    this.#checking = this.#checking.then(() => this.#look());
    return this.#checking;
  }

  close(): void {
    this.#closed = true;
    this.#cancelQuiet?.();
    this.#cancelPoll?.();
    for (const { watcher } of this.#directories.values()) watcher.close();
    this.#directories.clear();
  }

  async #look(): Promise<void> {
    if (this.#closed) return;
    await this.#watchDirectories();
    const stamps = await this.#readStamps();
    // close() may have come while waiting; its answer can differ from the one above.
    if (this.#isClosed()) return;
    const before = this.#stamps;
    this.#stamps = stamps;
    if (![...stamps].some(([file, stamp]) => stamp !== (before.get(file) ?? stamp))) return;
    try {
      this.#options.onChange();
    } catch (error) {
      this.#options.logger.error('Handling a changed configuration failed', { error });
    }
  }

  #isClosed(): boolean {
    return this.#closed;
  }

  #schedulePoll(): void {
    if (this.#closed) return;
    this.#cancelPoll = this.#options.clock.setTimer(this.#options.pollMs ?? 10_000, () => {
      void this.check().then(() => this.#schedulePoll());
    });
  }

  /** Any event in a directory leads to a look, since a swapped link carries another name than the file. */
  readonly #onEvent = (): void => {
    const { clock, quietMs = 100 } = this.#options;
    const now = clock.now();
    this.#restlessSince ??= now;
    // In a folder that is never quiet the look must come all the same.
    if (now - this.#restlessSince > 10 * quietMs) return;
    this.#cancelQuiet?.();
    this.#cancelQuiet = clock.setTimer(quietMs, () => {
      this.#restlessSince = undefined;
      void this.check();
    });
  };

  get #files(): readonly string[] {
    const { files, moreFiles } = this.#options;
    return [...files, ...(moreFiles?.() ?? [])];
  }

  async #readStamps(): Promise<ReadonlyMap<string, string>> {
    return new Map(await Promise.all(this.#files.map(async (file) => [file, await stampOf(file)] as const)));
  }

  /** Follows links: a change may happen where the file is named and where it is. */
  async #watchDirectories(): Promise<void> {
    const wanted = new Set<string>();
    for (const file of this.#files) {
      wanted.add(dirname(file));
      const target = await realpath(file).catch(() => file); // a missing file is watched for where it will be
      wanted.add(dirname(target));
    }
    for (const [directory, { watcher }] of this.#directories) {
      if (wanted.has(directory)) continue;
      watcher.close();
      this.#directories.delete(directory);
    }
    for (const directory of wanted) await this.#watchDirectory(directory);
  }

  /** A directory that was removed and made again is another one: its old watch is deaf. */
  async #watchDirectory(directory: string): Promise<void> {
    const identity = await identityOf(directory);
    const known = this.#directories.get(directory);
    if (known?.identity === identity) return;
    known?.watcher.close();
    this.#directories.delete(directory);
    if (identity === undefined || this.#closed) return;
    try {
      const watcher = watch(directory, { persistent: false }, this.#onEvent);
      watcher.on('error', (error) => this.#onWatchError(directory, error));
      this.#directories.set(directory, { identity, watcher });
    } catch (error) {
      this.#onWatchError(directory, error);
    }
  }

  #onWatchError(directory: string, error: unknown): void {
    this.#directories.get(directory)?.watcher.close();
    this.#directories.delete(directory);
    this.#options.logger.warn('Cannot watch a configuration folder, changes are found by looking now and then', {
      directory,
      error,
    });
  }
}

/** Changes whenever the content may have: nanoseconds, size and identity of what the path leads to. */
async function stampOf(file: string): Promise<string> {
  try {
    const { mtimeNs, size, ino, dev } = await stat(file, { bigint: true });
    return `${mtimeNs} ${size} ${dev}:${ino}`;
  } catch {
    return 'unreadable'; // loading the file says why
  }
}

async function identityOf(directory: string): Promise<string | undefined> {
  try {
    const { ino, dev } = await stat(directory, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined; // it may come later, the next look tries again
  }
}
