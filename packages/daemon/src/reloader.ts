import { ConfigError } from '@nodepool/core';
import type { Config, Logger } from '@nodepool/core';
import type { ConfigProblem } from '@nodepool/core/config';
import { logConfigWarnings } from './log-config-warnings.js';

/** What the last attempt to read the configuration said. */
export interface ReloadStatus {
  /** When the configuration in force was loaded, milliseconds since the UNIX epoch. */
  readonly loadedMs: number;
  /** Why a newer configuration is not in force; `undefined` when there is none such. */
  readonly error: string | undefined;
  /** The same without any value of the files, for those who may not read them: only where the problems are. */
  readonly publicError: string | undefined;
  /** Settings of the configuration in force that differ from those the service started with, and are read at a start only. */
  readonly restartNeeded: readonly string[];
}

/** Where in the configuration a service finds the address of its web server. */
export type WebappKey = 'webapp' | 'builderWebapp';

/** What a {@link Reloader} works with. */
export interface ReloaderOptions {
  /** The configuration the service started with. */
  readonly initial: Config;
  /** What of it is in use; `undefined`: no web server. */
  readonly webapp: WebappKey | undefined;
  /** Reads the files. Rejects when they are not valid; the signal says that newer files have come meanwhile. */
  readonly load: (signal: AbortSignal) => Promise<Config>;
  /** Puts a configuration in force. */
  readonly apply: (config: Config) => Promise<void>;
  readonly logger: Logger;
  readonly now: () => number;
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Where the problems are; the messages quote values, but not that of a file that cannot be read. */
function describePlaces(error: unknown): string {
  const problems = error instanceof ConfigError ? error.problems : [];
  const errors = problems.filter(({ severity }) => severity === 'error');
  const unread = errors.filter(isUnread).map(({ message }) => message);
  if (unread.length > 0) return unread.join('; ');
  const places = errors.map(({ position, path }) =>
    [position && `${position.file}:${position.line}:${position.column}`, path].filter(Boolean).join(' '),
  );
  return ['not valid, see the log', ...places.filter((place) => place !== '')].join('; ');
}

/** Of a file that cannot be read is known no place, only what the system says. */
function isUnread({ position, path, message }: ConfigProblem): boolean {
  return position === undefined && path === '' && message.includes(': cannot be read: ');
}

/** A load was given up for a newer one. */
class SupersededError extends Error {}

const WEBAPP_NAMES: Readonly<Record<WebappKey, string>> = { webapp: 'webapp', builderWebapp: 'builder-webapp' };

/** Settings that are read at a start only, and differ from those of the start. */
function changesNeedingRestart({ initial: before, webapp }: ReloaderOptions, after: Config): string[] {
  const changed = (name: string, pick: (config: Config) => unknown) =>
    JSON.stringify(pick(before)) === JSON.stringify(pick(after)) ? [] : [name];
  return [
    ...(webapp === undefined ? [] : changed(WEBAPP_NAMES[webapp], (config) => config[webapp])),
    ...changed('zookeeper-digest', (config) => config.zookeeper.digest),
    ...changed('zookeeper-tls', (config) => config.zookeeper.tls),
    ...changed('embedded-zookeeper-access', (config) => config.zookeeper.embeddedAccess),
    ...changed('embedded-zookeeper-port', (config) => config.zookeeper.embeddedPort),
    ...changed('zookeeper-timeout', (config) => config.zookeeper.sessionTimeoutMs),
    ...changed('zookeeper-servers', (config) => config.zookeeper.servers.length > 0),
    ...changed('zookeeper-servers[].chroot', (config) => config.zookeeper.servers.at(-1)?.chroot),
  ];
}

/**
 * Replaces the running configuration. An invalid one changes nothing: the old one stays in force, and the log and the
 * status say why. Reloads never overlap; asking during one makes one more follow, at once when this one still waits for
 * something to load.
 */
export class Reloader {
  readonly #options: ReloaderOptions;
  #config: Config;
  #status: ReloadStatus;
  #running: Promise<void> | undefined;
  #again = false;
  #loading: AbortController | undefined;

  constructor(options: ReloaderOptions) {
    this.#options = options;
    this.#config = options.initial;
    this.#status = { loadedMs: options.now(), error: undefined, publicError: undefined, restartNeeded: [] };
  }

  /** The configuration in force. */
  get config(): Config {
    return this.#config;
  }

  get status(): ReloadStatus {
    return this.#status;
  }

  /** Resolves when the files as they are now have been dealt with, one way or the other. Never rejects. */
  reload(): Promise<void> {
    if (this.#running) {
      this.#again = true;
      this.#loading?.abort(new Error('the configuration changed once more while it was loaded'));
      return this.#running;
    }
    this.#running = this.#loop().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #loop(): Promise<void> {
    do {
      this.#again = false;
      await this.#reloadOnce();
    } while (this.#again);
  }

  async #reloadOnce(): Promise<void> {
    const { logger, apply, now } = this.#options;
    try {
      const config = await this.#load();
      const restartNeeded = changesNeedingRestart(this.#options, config);
      for (const setting of restartNeeded) logger.warn('A changed setting takes effect at the next start', { setting });
      logConfigWarnings(config, logger);
      await apply(config);
      this.#config = config;
      this.#status = { loadedMs: now(), error: undefined, publicError: undefined, restartNeeded };
      logger.info('Configuration reloaded', { file: config.file });
    } catch (error) {
      if (error instanceof SupersededError) {
        logger.info('Configuration changed once more while it was loaded; loading it again');
        return;
      }
      this.#status = { ...this.#status, error: describe(error), publicError: describePlaces(error) };
      logger.error('New configuration is not valid; the old one stays in force', { error });
    }
  }

  async #load(): Promise<Config> {
    const loading = new AbortController();
    this.#loading = loading;
    try {
      return await this.#options.load(loading.signal);
    } catch (error) {
      throw loading.signal.aborted ? new SupersededError() : error;
    } finally {
      this.#loading = undefined;
    }
  }
}
