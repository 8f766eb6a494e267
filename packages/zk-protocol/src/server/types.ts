import type { ZooKeeperLogger } from '../base/logger.js';
import type { EmbeddedServerError } from './storage/server-error.js';
import type { Clock } from '../base/clock.js';
import type { FileSystem } from './storage/file-system.js';

/** Settings of an embedded server; only `dataDir` is required. */
export interface EmbeddedServerOptions {
  /** Directory of the log and the snapshots; created if missing. One server at a time can use it. */
  dataDir: string;
  /** @default '127.0.0.1' */
  host?: string;
  /** 0 chooses a free one. @default 0, or no TCP port if `socket` is set */
  port?: number | undefined;
  /**
   * Unix socket, in a directory of its own. Its permissions decide who may use it; its clients need no login. An existing file
   * is replaced.
   */
  socket?: { path: string; mode: number };
  /** @default the system clock */
  clock?: Clock;
  /** @default silent */
  logger?: ZooKeeperLogger;
  /**
   * `user:password` that all clients on TCP must prove by digest authentication. A function is called after the server has
   * locked the directory.
   * @default none; all clients that reach the port are served
   */
  login?: string | (() => Promise<string | undefined>) | undefined;
  /** False may lose acknowledged writes in a power failure. @default true */
  fsync?: boolean;
  /** Transactions between two snapshots; more often when the log grows large. @default 100000 */
  snapshotEvery?: number;
  /** Limit of connections; further ones are closed at once. @default 1000 */
  maxClientConnections?: number;
  /** Limit of connections per address. @default four fifths of all */
  maxConnectionsPerAddress?: number;
  /** Shortest session timeout granted, in milliseconds. @default 1000 */
  minSessionTimeoutMs?: number;
  /** Longest session timeout granted, in milliseconds. @default 60000 */
  maxSessionTimeoutMs?: number;
  /** @default that of the operating system */
  fileSystem?: FileSystem;
  /** Called when the server stopped because its directory was removed or taken over by another server. */
  onLost?: (error: EmbeddedServerError) => void;
}

/** A running embedded server. */
export interface EmbeddedServer {
  readonly host: string;
  /** 0 without a TCP port. */
  readonly port: number;
  /** Connect string for clients: `host:port`, or `unix:/path` if there is a socket. */
  readonly connectString: string;
  /** False while writes fail and clients are rejected; false for good after the directory was lost. */
  readonly isServing: boolean;
  /** Closes connections, writes pending data and releases port and directory. Keeps sessions in the data. Safe to repeat. */
  close(): Promise<void>;
}
