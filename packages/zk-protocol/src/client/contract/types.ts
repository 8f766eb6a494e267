/** One server of the ensemble. */
export interface ServerAddress {
  /** Host name or IP address, IPv6 without brackets; or the absolute path of a Unix socket. */
  host: string;
  /** 0 for a Unix socket. */
  port: number;
  /** Path prefix; must be the same for all servers that have one. */
  chroot?: string | undefined;
}

/** Metadata of a znode, as ZooKeeper keeps it. Times are milliseconds since the UNIX epoch. */
export interface Stat {
  czxid: bigint;
  mzxid: bigint;
  pzxid: bigint;
  ctime: number;
  mtime: number;
  version: number;
  cversion: number;
  aversion: number;
  /** Session that owns an ephemeral znode; `0n` for others. */
  ephemeralOwner: bigint;
  dataLength: number;
  numChildren: number;
}

/**
 * - `CONNECTED` the session is alive and a server responds
 * - `SUSPENDED` no server responds, the session may be alive
 * - `LOST` the session ended, and with it ephemerals and locks. The client opens a new session
 * - `CLOSED` {@link ZooKeeper.close} was called; final
 */
export type ConnectionState = 'SUSPENDED' | 'CONNECTED' | 'LOST' | 'CLOSED';

/** Event of a watch; `path` is without chroot. */
export interface WatchEvent {
  type: 'created' | 'deleted' | 'changed' | 'children';
  path: string;
}

/** Called for each event in the server's order, before the reply to the call that caused it. Must not throw. */
export type WatchListener = (event: WatchEvent) => void;

/** Access control entry: bit mask of permissions (read 1, write 2, create 4, delete 8, admin 16), scheme, id. */
export interface Acl {
  permissions: number;
  scheme: string;
  id: string;
}

/** Kind of znode to create; by default persistent and not sequential. */
export interface CreateOptions {
  ephemeral?: boolean;
  /** The server appends a 10-digit number. */
  sequential?: boolean;
  container?: boolean;
  ttlMs?: number;
  /** @default the connection's `defaultAcl` */
  acl?: readonly Acl[];
}

/** An operation of a {@link ZooKeeper.multi}. A `version` of `-1` or `undefined` matches any. */
export type Operation =
  | ({ op: 'create'; path: string; data?: Buffer | string | undefined } & Pick<
      CreateOptions,
      'ephemeral' | 'sequential' | 'acl'
    >)
  | { op: 'delete'; path: string; version?: number }
  | { op: 'set'; path: string; data: Buffer | string; version?: number }
  | { op: 'check'; path: string; version?: number };

/**
 * Result of an operation of a {@link ZooKeeper.multi}. Servers up to 3.8 do not send the stat of a create: it is exact
 * except for its times, which are this machine's unless the multi contains a `set`.
 */
export type OperationResult =
  { op: 'create'; path: string; stat: Stat } | { op: 'set'; stat: Stat } | { op: 'delete' } | { op: 'check' };

/** A read of a {@link ZooKeeper.multiRead}. */
export interface ReadOperation {
  read: 'data' | 'children';
  path: string;
}

/** Result of one read of a {@link ZooKeeper.multiRead}; reads fail independently. */
export type ReadResult =
  | { read: 'data'; path: string; data: Buffer; stat: Stat }
  | { read: 'children'; path: string; children: string[] }
  | { read: 'error'; path: string; error: Error };

/** Counters since the client was created. */
export interface ConnectionCounters {
  /** Packets sent, without pings. A multi counts once. */
  requests: number;
  /** Operations sent; each operation of a multi counts. */
  operations: number;
  /** Write operations sent. */
  writes: number;
  /** Watch events received. */
  events: number;
  /** Unanswered requests, sent or queued. */
  pending: number;
}

/**
 * A ZooKeeper session. Methods may be called at any time and reject with a `ZooKeeperError` (see errors.ts). While SUSPENDED,
 * requests wait for the connection up to the session timeout. If the connection breaks before the reply, a request rejects
 * with `ZK_CONNECTION_LOSS` and may or may not have taken effect. Calls made in one turn of the event loop are sent in order
 * in one write; replies have the same order.
 */
export interface ZooKeeper {
  readonly state: ConnectionState;
  /** `0n` before the first connection. */
  readonly sessionId: bigint;
  /** Increases with each new session: an ephemeral of an earlier epoch no longer exists. */
  readonly sessionEpoch: number;
  readonly counters: Readonly<ConnectionCounters>;
  /**
   * For how long the session is certain to live on, in milliseconds of steady time since the last confirmation by the server. 0: the
   * server may have ended it unnoticed, e.g. while this process was stopped, and others may hold its locks.
   */
  readonly sessionLeftMs: number;
  /** How long a session may outlive its timeout while its only server is paused, in milliseconds. */
  readonly serverPauseMs: number;

  /** Calls the listener on every state change, after the state is set. @returns a function that unsubscribes */
  onState(listener: (state: ConnectionState) => void): () => void;
  /** Resolves when CONNECTED. Rejects when closed or aborted. */
  whenConnected(signal?: AbortSignal): Promise<void>;

  create(path: string, data?: Buffer | string, options?: CreateOptions): Promise<string>;
  create2(path: string, data?: Buffer | string, options?: CreateOptions): Promise<{ path: string; stat: Stat }>;
  /** Creates the path and missing parents. */
  ensurePath(path: string): Promise<void>;
  /** @throws ZK_NO_NODE, ZK_BAD_VERSION, ZK_NOT_EMPTY */
  delete(path: string, version?: number): Promise<void>;
  /** Deletes a subtree; does nothing if it does not exist. */
  deleteRecursive(path: string): Promise<void>;
  exists(path: string, watcher?: WatchListener): Promise<Stat | undefined>;
  getData(path: string, watcher?: WatchListener): Promise<{ data: Buffer; stat: Stat }>;
  setData(path: string, data: Buffer | string, version?: number): Promise<Stat>;
  getChildren(path: string, watcher?: WatchListener): Promise<string[]>;
  getChildren2(path: string, watcher?: WatchListener): Promise<{ children: string[]; stat: Stat }>;
  getAcl(path: string): Promise<{ acl: Acl[]; stat: Stat }>;
  setAcl(path: string, acl: readonly Acl[], version?: number): Promise<Stat>;
  /** Executes all operations or none. @throws MultiError naming the failed operation */
  multi(operations: readonly Operation[]): Promise<OperationResult[]>;
  multiRead(operations: readonly ReadOperation[]): Promise<ReadResult[]>;
  /** Waits until the server has caught up with its leader. */
  sync(path: string): Promise<void>;
  /**
   * Adds a persistent watch. It is added again after each reconnect, before other requests. Changes in between are not
   * reported, so listen to {@link onState} and read again when CONNECTED.
   */
  addWatch(path: string, mode: 'persistent' | 'persistent-recursive', listener: WatchListener): Promise<void>;
  /** Removes a listener added by {@link addWatch}, and the watch itself with its last listener. */
  removeWatch(path: string, listener: WatchListener): Promise<void>;
  /** Ends the session and deletes its ephemerals. Takes at most a second. Safe to repeat. */
  close(): Promise<void>;
  /** Closes this client and leaves the session, with its ephemerals, until it expires: as if the process had died. */
  leave(): void;
}

/** A {@link ZooKeeper} whose server list can be changed at run time. */
export interface ZooKeeperConnection extends ZooKeeper {
  /** Error of the last failed connection attempt; `undefined` after a success. */
  readonly lastFailure: Error | undefined;
  /**
   * Replaces the list of servers. The session continues. If the current server is not on the list, the client leaves it after
   * pending requests are answered.
   * @throws ZK_BAD_ARGUMENTS if the list is empty or has another chroot, which cannot change at run time
   */
  resetServers(servers: readonly ServerAddress[]): void;
}
