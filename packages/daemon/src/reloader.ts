import { ConfigError } from '@nodepool/core';
import type { Config, Logger } from '@nodepool/core';
import { formatProblem, newlyUnserved, type ConfigProblem, type WebappConfig } from '@nodepool/core/config';
import { logConfigWarnings } from './log-config-warnings.js';

/** Result of the last attempt to load the configuration. */
export interface ReloadStatus {
  /** When the configuration in force was loaded, milliseconds since the UNIX epoch. */
  readonly loadedMs: number;
  /** Why a newer configuration is not in force; `undefined` if the newest one is. */
  readonly error: string | undefined;
  /** Locations of the problems only, without values, for readers who may not read the files. */
  readonly publicError: string | undefined;
  /** Changed settings that take effect only after a restart. */
  readonly restartNeeded: readonly string[];
}

/** Configuration key with the address of the web server of a service. */
export type WebappKey = 'webapp' | 'builderWebapp';

/** Options of {@link Reloader}. */
export interface ReloaderOptions {
  /** The configuration the service started with. */
  readonly initial: Config;
  /** `undefined`: no web server. */
  readonly webapp: WebappKey | undefined;
  /** Reads the files. Rejects if they are invalid. The signal aborts when the files change during loading. */
  readonly load: (signal: AbortSignal) => Promise<Config>;
  /** Applies a configuration. */
  readonly apply: (config: Config) => Promise<void>;
  readonly logger: Logger;
  readonly now: () => number;
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Locations of the problems. Their messages quote values and are left out, except for a file that cannot be read. */
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

/** A file that cannot be read has no location, only the error of the system. */
function isUnread({ position, path, message }: ConfigProblem): boolean {
  return position === undefined && path === '' && message.includes(': cannot be read: ');
}

/** Thrown when a load was aborted for a newer one. */
class SupersededError extends Error {}

/** Names of the keys in the file. */
export const WEBAPP_NAMES = { webapp: 'webapp', builderWebapp: 'builder-webapp' } as const;

/** Settings of a web server that it cannot change while it runs. */
function listening({ port, listenAddress, tls, socketAccess }: WebappConfig) {
  return { port, listenAddress, isTls: tls !== undefined, socketAccess };
}

/** Names changed settings that take effect only after a restart. */
function changesNeedingRestart({ initial: before, webapp }: ReloaderOptions, after: Config): string[] {
  const changed = (name: string, pick: (config: Config) => unknown) =>
    JSON.stringify(pick(before)) === JSON.stringify(pick(after)) ? [] : [name];
  return [
    ...(webapp === undefined ? [] : changed(WEBAPP_NAMES[webapp], (config) => listening(config[webapp]))),
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
 * Reloads the configuration. An invalid one changes nothing and is reported in log and status, as does one that would leave a
 * provider in service without its driver. Reloads never overlap: a reload
 * requested during another one follows it, or aborts it while it is still loading.
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

  /** Resolves when the current files were applied or found invalid. Never rejects. */
  reload(): Promise<void> {
    if (this.#running) {
      this.#again = true;
      this.#loading?.abort(new Error('the configuration changed again during loading'));
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
      const lost = newlyUnserved(this.#config, config);
      if (lost.length > 0) throw new ConfigError(lost.map(formatProblem).join('\n'), lost);
      const restartNeeded = changesNeedingRestart(this.#options, config);
      for (const setting of restartNeeded) logger.warn('Changed setting takes effect after a restart', { setting });
      logConfigWarnings(config, logger);
      await apply(config);
      this.#config = config;
      this.#status = { loadedMs: now(), error: undefined, publicError: undefined, restartNeeded };
      logger.info('Configuration reloaded', { file: config.file });
    } catch (error) {
      if (error instanceof SupersededError) {
        logger.info('Configuration changed during loading; loading it again');
        return;
      }
      this.#status = { ...this.#status, error: describe(error), publicError: describePlaces(error) };
      logger.error('New configuration is invalid; the old one stays in force', { error });
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
