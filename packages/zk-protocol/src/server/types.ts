import type { ZooKeeperLogger } from '../base/logger.js';
import type { EmbeddedServerError } from './errors.js';
import type { Clock } from '../base/clock.js';
import type { FileSystem } from './storage/file-system.js';

/** How to run an embedded server; only the folder is needed. */
export interface EmbeddedServerOptions {
  /** Folder of the log and the snapshots; made where missing. One server at a time can use it. */
  dataDir: string;
  /** @default '127.0.0.1' */
  host?: string;
  /** 0 takes a free one. @default 0, with a `socket` no TCP port at all */
  port?: number | undefined;
  /**
   * Unix socket, in a directory of its own. Its permissions decide who may use it; its clients need no login. What is at this
   * path is replaced.
   */
  socket?: { path: string; mode: number };
  /** @default the machine's */
  clock?: Clock;
  /** @default silent */
  logger?: ZooKeeperLogger;
  /**
   * `user:password` that every client on TCP has to prove by digest authentication before it may do anything.
   * A function is called once this server alone has the folder.
   * @default none: everybody who reaches the port may do everything
   */
  login?: string | (() => Promise<string | undefined>) | undefined;
  /** False loses acknowledged writes when the machine, not just the process, dies. @default true */
  fsync?: boolean;
  /** Transactions between two snapshots; more often when the log grows large. @default 100000 */
  snapshotEvery?: number;
  /** Connections beyond that are closed at once. @default 1000 */
  maxClientConnections?: number;
  /** Of these, how many may come from one address. @default four fifths */
  maxConnectionsPerAddress?: number;
  /** Shortest session timeout granted, in milliseconds. @default 1000 */
  minSessionTimeoutMs?: number;
  /** Longest session timeout granted, in milliseconds. @default 60000 */
  maxSessionTimeoutMs?: number;
  /** @default the machine's */
  fileSystem?: FileSystem;
  /** Called when the server had to stop, as its folder was removed or taken over by another server. */
  onLost?: (error: EmbeddedServerError) => void;
}

/** A running embedded server. */
export interface EmbeddedServer {
  readonly host: string;
  /** 0 when it does not listen on TCP. */
  readonly port: number;
  /** `host:port`, or `unix:/path` when there is a socket: as a client wants it. */
  readonly connectString: string;
  /** False while the disk does not take writes: clients are turned away until it does. False for good once the folder is lost. */
  readonly isServing: boolean;
  /** Closes connections, writes what is left and frees port and folder. Sessions live on in the data. Safe to repeat. */
  close(): Promise<void>;
}
