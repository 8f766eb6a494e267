import type { Socket } from 'node:net';
import { backoffMs } from '../base/backoff.js';
import { type Clock, delay, systemClock } from '../base/clock.js';
import { EmbeddedServerError } from './storage/server-error.js';
import { ServerModel } from './model/server-model.js';
import { DirectoryLock } from './storage/directory-lock.js';
import { nodeFileSystem } from './storage/file-system.js';
import { refuseMoved } from './storage/move-note.js';
import { Store, type StoreOptions } from './storage/store.js';
import { silentZooKeeperLogger, type ZooKeeperLogger } from '../base/logger.js';
import type { EmbeddedServer, EmbeddedServerOptions } from './types.js';
import { ClientConnection } from './client-connection.js';
import { ConnectionGate } from './connection-limits.js';
import { Dispatcher } from './dispatcher.js';
import { Listeners } from './listeners.js';
import { Login } from './login.js';

const DEFAULT_SNAPSHOT_EVERY = 100_000;
const DEFAULT_MAX_CONNECTIONS = 1000;
/** Share of all connections allowed per address. */
const ONE_ADDRESS_SHARE = 0.8;
const RETRY = { firstMs: 200, longestMs: 5_000 };

/**
 * Starts a ZooKeeper server in this process. Acknowledged writes are on disk; a later start on the same directory continues
 * with the same data and sessions.
 * @throws {EmbeddedServerError} the directory is in use, damaged or unreadable, or the address cannot be used
 */
export async function startEmbeddedServer(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
  const server = new RunningServer(options);
  await server.start();
  return server;
}

/** The server of {@link startEmbeddedServer}; exported for tests, which read its model. */
export class RunningServer implements EmbeddedServer {
  private readonly clock: Clock;
  private readonly logger: ZooKeeperLogger;
  private readonly dispatcher: Dispatcher;
  private readonly listeners: Listeners;
  private readonly storeOptions: Omit<StoreOptions, 'lock' | 'onFailure'>;
  private readonly maxConnections: number;
  private readonly stopping = new AbortController();
  private store: Store | undefined;
  private lastModel = new ServerModel();
  private recovery: Promise<void> | undefined;
  private closed: Promise<void> | undefined;
  private lock: DirectoryLock | undefined;

  constructor(private readonly options: EmbeddedServerOptions) {
    this.clock = options.clock ?? systemClock;
    this.logger = options.logger ?? silentZooKeeperLogger;
    this.maxConnections = options.maxClientConnections ?? DEFAULT_MAX_CONNECTIONS;
    this.storeOptions = {
      directory: options.dataDir,
      fs: options.fileSystem ?? nodeFileSystem,
      fsync: options.fsync ?? true,
      snapshotEvery: options.snapshotEvery ?? DEFAULT_SNAPSHOT_EVERY,
      logger: this.logger,
      createModel: () => new ServerModel(options),
      onDurable: () => this.dispatcher.onDurable(),
    };
    const configuration = {
      dataDir: options.dataDir,
      maxClientCnxns: this.maxConnections,
      snapshotEvery: this.storeOptions.snapshotEvery,
    };
    const perAddress = options.maxConnectionsPerAddress ?? Math.ceil(this.maxConnections * ONE_ADDRESS_SHARE);
    const gate = new ConnectionGate({ total: this.maxConnections, perAddress }, this.clock, this.logger);
    this.dispatcher = new Dispatcher(this.clock, this.logger, configuration, gate);
    this.listeners = new Listeners(options, this.logger, (socket, isLocal) => this.onSocket(socket, isLocal));
  }

  get host(): string {
    return this.listeners.host;
  }

  get port(): number {
    return this.listeners.port;
  }

  get connectString(): string {
    return this.listeners.connectString;
  }

  get model(): ServerModel {
    return this.store?.model ?? this.lastModel;
  }

  get isServing(): boolean {
    return this.store !== undefined && this.closed === undefined;
  }

  async start(): Promise<void> {
    const lock = await DirectoryLock.take(this.options.dataDir);
    this.lock = lock;
    lock.onLost = (error) => this.onWriteFailure(lock, error);
    try {
      await refuseMoved(this.options.dataDir);
      this.dispatcher.login = await this.readLogin();
      const store = await this.openStore(lock);
      try {
        await this.listeners.listen();
      } catch (error) {
        await store.close();
        throw error;
      }
      this.useStore(store);
    } catch (error) {
      await this.close();
      throw error;
    }
    this.logger.info('Embedded ZooKeeper started', {
      address: this.connectString,
      dataDir: this.options.dataDir,
      znodes: this.model.tree.size,
      sessions: this.model.sessions.size,
    });
  }

  close(): Promise<void> {
    this.closed ??= this.stop();
    return this.closed;
  }

  private async stop(): Promise<void> {
    this.stopping.abort(new Error('the server is closing'));
    const listening = this.listeners.close();
    await this.store?.settled();
    this.dispatcher.suspend('the server is closing');
    await this.recovery;
    await this.store?.close();
    await listening;
    await this.lock?.release();
  }

  private async readLogin(): Promise<Login | undefined> {
    const { login } = this.options;
    const text = typeof login === 'function' ? await login() : login;
    return text === undefined ? undefined : new Login(text);
  }

  private async openStore(lock: DirectoryLock): Promise<Store> {
    try {
      return await Store.open(this.optionsWith(lock));
    } catch (error) {
      if (error instanceof EmbeddedServerError) throw error;
      throw new EmbeddedServerError(
        'ZK_EMBEDDED_IO',
        `embedded ZooKeeper: cannot use ${this.options.dataDir}: ${messageOf(error)}. ${remedyFor(error)}`,
        { path: this.options.dataDir, cause: error },
      );
    }
  }

  private useStore(store: Store): void {
    this.store = store;
    this.lastModel = store.model;
    this.dispatcher.serve(store);
  }

  private onSocket(socket: Socket, isLocal: boolean): void {
    this.dispatcher.add(new ClientConnection(socket, this.dispatcher, isLocal || this.dispatcher.login === undefined));
  }

  private optionsWith(lock: DirectoryLock): StoreOptions {
    return { ...this.storeOptions, lock, onFailure: (error) => this.onWriteFailure(lock, error) };
  }

  private onWriteFailure(lock: DirectoryLock, error: unknown): void {
    const failed = this.store;
    if (failed === undefined) return;
    this.store = undefined;
    const { dataDir } = this.options;
    const lost = asLost(error, dataDir);
    if (lost === undefined) {
      this.logger.error('Embedded ZooKeeper failed to write its data; rejecting clients until it succeeds', {
        dataDir,
        error,
      });
    }
    const remedy = isOutOfSpace(error) ? 'free space on that disk' : 'correct the cause of the error';
    const details = `it cannot write in ${dataDir}: ${messageOf(error)}; ${remedy}, and the server resumes`;
    this.dispatcher.suspend('the server cannot write its data', details);
    if (lost !== undefined) this.giveUp(failed, lost);
    else if (this.closed === undefined) this.recovery = this.recover(lock, failed, error);
    else this.recovery = closeQuietly(failed, this.logger);
  }

  /** Stops for good: the directory no longer holds what was acknowledged. */
  private giveUp(failed: Store | undefined, error: EmbeddedServerError): void {
    this.logger.error('Embedded ZooKeeper stopped: its data directory was lost', { dataDir: error.path, error });
    this.recovery = closeQuietly(failed, this.logger);
    if (this.closed === undefined) this.options.onLost?.(error);
  }

  /**
   * Recovers from a failed write with the data on disk. After a full disk, resumes when there is some space; after any other
   * failure, when a new snapshot was written, as the state of the existing files is uncertain.
   */
  private async recover(lock: DirectoryLock, failed: Store, cause: unknown): Promise<void> {
    await closeQuietly(failed, this.logger);
    for (let failures = 0; !this.stopping.signal.aborted; failures++) {
      try {
        await delay(this.clock, backoffMs(failures, RETRY), this.stopping.signal);
        const store = isOutOfSpace(cause)
          ? await Store.reopen(this.optionsWith(lock), failed)
          : await Store.open(this.optionsWith(lock), { fresh: true });
        this.useStore(store);
        this.logger.info('Embedded ZooKeeper resumed after a failed write', { dataDir: this.options.dataDir });
        return;
      } catch (error) {
        if (this.stopping.signal.aborted) return;
        const lost = asLost(error, this.options.dataDir);
        if (lost !== undefined) {
          this.giveUp(undefined, lost);
          return;
        }
        this.logger.warn('Embedded ZooKeeper still fails to write its data', { dataDir: this.options.dataDir, error });
      }
    }
  }
}

/** The error of a removed directory or file; `undefined` for other errors. */
function asLost(error: unknown, path: string): EmbeddedServerError | undefined {
  if (error instanceof EmbeddedServerError) return error.code === 'ZK_EMBEDDED_LOST' ? error : undefined;
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return undefined;
  const message =
    `embedded ZooKeeper: cannot continue to use ${path}: a file of it was removed while this server ran ` +
    `(${messageOf(error)}). Restore it from a backup, and start again`;
  return new EmbeddedServerError('ZK_EMBEDDED_LOST', message, { path, cause: error });
}

/** An operator can only correct errors of the operating system. */
function remedyFor(error: unknown): string {
  const isRefusal = error instanceof Error && 'syscall' in error;
  return isRefusal ? 'Check that it exists, is writable and has space' : 'Its files are unchanged; report this error';
}

function isOutOfSpace(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT';
}

async function closeQuietly(store: Store | undefined, logger: ZooKeeperLogger): Promise<void> {
  try {
    await store?.close();
  } catch (error) {
    logger.warn('Failed to close the log file after a failed write', { error });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
