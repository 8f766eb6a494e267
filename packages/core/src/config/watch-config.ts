import { type FSWatcher, watch } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { steadyNow, type CancelTimer, type Clock } from '@nodepool/zk-protocol';
import type { Logger } from '../contract/logger.js';
import { replacedFile } from './replaced-file.js';

/** Options of {@link watchConfig}. */
export interface WatchConfigOptions {
  /** Main and secure file. A file need not exist. */
  files: readonly string[];
  /** Additional files of the current configuration. Called at each check; adding a file is not a change. */
  moreFiles?: () => readonly string[];
  clock: Clock;
  /** Called after a file changed and the quiet time passed; never after close. */
  onChange: () => void;
  logger: Logger;
  /** How long files must be unchanged before a change is reported. Default 100 ms. */
  quietMs?: number;
  /** Polling interval, in case a file system event is missed. Default 10,000 ms. */
  pollMs?: number;
}

/** Watches until closed. */
export interface ConfigWatcher {
  /** Checks now. Resolves after `onChange`, which is called if a file changed since the last check. */
  check(): Promise<void>;
  close(): void;
}

/**
 * Watches configuration files for edits, replacement by renaming, and swapped symbolic links, as in mounted Kubernetes
 * config maps. Start it before the first load, so that no change is missed.
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
  readonly #replaced = new Set<string>();
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

  /** Checks run sequentially, so that none compares with a stamp that another is replacing. */
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
    // close() may have been called during the wait, so check again.
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

  /** Any event in a directory triggers a check, because a swapped link has another name than the file. */
  readonly #onEvent = (): void => {
    const { clock, quietMs = 100 } = this.#options;
    const now = steadyNow(clock);
    this.#restlessSince ??= now;
    // Do not postpone the check forever in a folder with constant changes.
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
    for (const file of this.#files) this.#warnIfReplaced(file);
    return new Map(await Promise.all(this.#files.map(async (file) => [file, await stampOf(file)] as const)));
  }

  /** Says it once: such a file never changes again. */
  #warnIfReplaced(file: string): void {
    const replaced = replacedFile(file);
    if (replaced === undefined || this.#replaced.has(file)) return;
    this.#replaced.add(file);
    this.#options.logger.warn('A configuration file is not read again', { file, reason: replaced });
  }

  /** Watches the directories of each file and of its link target, because either can change. */
  async #watchDirectories(): Promise<void> {
    const wanted = new Set<string>();
    for (const file of this.#files) {
      wanted.add(dirname(file));
      const target = await realpath(file).catch(() => file); // watch the folder of a missing file
      wanted.add(dirname(target));
    }
    for (const [directory, { watcher }] of this.#directories) {
      if (wanted.has(directory)) continue;
      watcher.close();
      this.#directories.delete(directory);
    }
    for (const directory of wanted) await this.#watchDirectory(directory);
  }

  /** Watches a directory. A recreated directory needs a new watch. */
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

/** Changes whenever the content may have changed: time in nanoseconds, size and identity of the target. */
async function stampOf(file: string): Promise<string> {
  try {
    const { mtimeNs, size, ino, dev } = await stat(file, { bigint: true });
    return `${mtimeNs} ${size} ${dev}:${ino}`;
  } catch {
    return 'unreadable'; // loading the file reports the reason
  }
}

async function identityOf(directory: string): Promise<string | undefined> {
  try {
    const { ino, dev } = await stat(directory, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined; // it may be created later; the next check retries
  }
}
