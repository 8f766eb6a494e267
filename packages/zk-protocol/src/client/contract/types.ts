/** One server of the ensemble. */
export interface ServerAddress {
  /** Host name or IP address, IPv6 without brackets; or the absolute path of a Unix socket. */
  host: string;
  /** 0 for a Unix socket. */
  port: number;
  /** Path prefix; when several servers carry one it must be the same. */
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
 * - `CONNECTED` the session lives and a server answers
 * - `SUSPENDED` no server answers, the session may still live
 * - `LOST` the session is over; ephemerals and locks are gone. A new session follows by itself
 * - `CLOSED` {@link ZooKeeper.close} was called; final
 */
export type ConnectionState = 'SUSPENDED' | 'CONNECTED' | 'LOST' | 'CLOSED';

/** What a watch reports; `path` is without chroot. */
export interface WatchEvent {
  type: 'created' | 'deleted' | 'changed' | 'children';
  path: string;
}

/** Called for each event, in the server's order and before the reply of the call that caused it. Must not throw. */
export type WatchListener = (event: WatchEvent) => void;

/** Access control entry: bit mask of permissions (read 1, write 2, create 4, delete 8, admin 16), scheme, id. */
export interface Acl {
  permissions: number;
  scheme: string;
  id: string;
}

/** What kind of znode to create; by default a persistent one without a number. */
export interface CreateOptions {
  ephemeral?: boolean;
  /** The server appends a 10-digit number. */
  sequential?: boolean;
  container?: boolean;
  ttlMs?: number;
  /** Default: the connection's `defaultAcl`, which defaults to `world:anyone` with all permissions. */
  acl?: readonly Acl[];
}

/** One part of a {@link ZooKeeper.multi}. `version` `-1` or `undefined` means any. */
export type Operation =
  | ({ op: 'create'; path: string; data?: Buffer | string | undefined } & Pick<
      CreateOptions,
      'ephemeral' | 'sequential' | 'acl'
    >)
  | { op: 'delete'; path: string; version?: number }
  | { op: 'set'; path: string; data: Buffer | string; version?: number }
  | { op: 'check'; path: string; version?: number };

/**
 * Result of one part, in the order of the operations. The stat of a create is exact but for its times, which are this
 * machine's unless a `set` stands in the same multi: servers up to 3.8 do not send it.
 */
export type OperationResult =
  { op: 'create'; path: string; stat: Stat } | { op: 'set'; stat: Stat } | { op: 'delete' } | { op: 'check' };

/** One part of a {@link ZooKeeper.multiRead}. */
export interface ReadOperation {
  read: 'data' | 'children';
  path: string;
}

/** Result of one part of a {@link ZooKeeper.multiRead}: one failing part does not fail the others. */
export type ReadResult =
  | { read: 'data'; path: string; data: Buffer; stat: Stat }
  | { read: 'children'; path: string; children: string[] }
  | { read: 'error'; path: string; error: Error };

/** Counters since the connection was made. */
export interface ConnectionCounters {
  /** Packets sent, without pings. A multi counts once. */
  requests: number;
  /** Operations sent: as `requests`, but each part of a multi counts. */
  operations: number;
  /** Of the operations, those that change something. */
  writes: number;
  /** Watch events received. */
  events: number;
  /** Requests sent or queued that have no answer yet. */
  pending: number;
}

/**
 * A ZooKeeper session. Every method rejects with a `ZooKeeperError` (see errors.ts) and may be called at any time:
 * while SUSPENDED requests wait for the connection up to the session timeout; when a request was sent and the
 * connection broke before its answer it rejects with `ZK_CONNECTION_LOSS` and may or may not have taken effect.
 * Calls made in one tick are written in order in one go; replies come in the same order.
 */
export interface ZooKeeper {
  readonly state: ConnectionState;
  /** `0n` before the first connection. */
  readonly sessionId: bigint;
  /** Grows with every new session; tells whether an ephemeral made earlier can still exist. */
  readonly sessionEpoch: number;
  readonly counters: Readonly<ConnectionCounters>;
  /** How much longer than its timeout a session lives while its only server is paused; 0: not at all. */
  readonly serverPauseMs: number;

  /** Calls the listener on every state change, after the state is set. @returns a function that unsubscribes */
  onState(listener: (state: ConnectionState) => void): () => void;
  /** Resolves once CONNECTED (at once if it is). Rejects when closed or aborted. */
  whenConnected(signal?: AbortSignal): Promise<void>;

  create(path: string, data?: Buffer | string, options?: CreateOptions): Promise<string>;
  create2(path: string, data?: Buffer | string, options?: CreateOptions): Promise<{ path: string; stat: Stat }>;
  /** Creates the path and all its parents where missing. */
  ensurePath(path: string): Promise<void>;
  /** @throws ZK_NO_NODE, ZK_BAD_VERSION, ZK_NOT_EMPTY */
  delete(path: string, version?: number): Promise<void>;
  /** Deletes children first; a path that is already gone is fine. */
  deleteRecursive(path: string): Promise<void>;
  exists(path: string, watcher?: WatchListener): Promise<Stat | undefined>;
  getData(path: string, watcher?: WatchListener): Promise<{ data: Buffer; stat: Stat }>;
  setData(path: string, data: Buffer | string, version?: number): Promise<Stat>;
  getChildren(path: string, watcher?: WatchListener): Promise<string[]>;
  getChildren2(path: string, watcher?: WatchListener): Promise<{ children: string[]; stat: Stat }>;
  getAcl(path: string): Promise<{ acl: Acl[]; stat: Stat }>;
  setAcl(path: string, acl: readonly Acl[], version?: number): Promise<Stat>;
  /** All or nothing. @throws MultiError naming the part that failed */
  multi(operations: readonly Operation[]): Promise<OperationResult[]>;
  multiRead(operations: readonly ReadOperation[]): Promise<ReadResult[]>;
  /** Waits until the server has caught up with its leader. */
  sync(path: string): Promise<void>;
  /**
   * Adds a persistent watch. It is added again after every reconnect before anything else is sent; what changed in
   * between is not reported, so listen to {@link onState} and read again when CONNECTED.
   */
  addWatch(path: string, mode: 'persistent' | 'persistent-recursive', listener: WatchListener): Promise<void>;
  /** Removes a listener added by {@link addWatch}; the server-side watch goes with its last listener. */
  removeWatch(path: string, listener: WatchListener): Promise<void>;
  /** Ends the session: ephemerals go at once. Never takes longer than a second; safe to repeat. */
  close(): Promise<void>;
}

/** A {@link ZooKeeper} whose server list can be changed while it runs. */
export interface ZooKeeperConnection extends ZooKeeper {
  /** Why the last attempt to connect failed; `undefined` when there was none since the last success. */
  readonly lastFailure: Error | undefined;
  /**
   * Takes another list of servers into use. The session continues; when the server in use is not on the list, the
   * connection moves once the requests under way are answered.
   * @throws ZK_BAD_ARGUMENTS when the list is empty or carries another chroot: that cannot change at run time
   */
  resetServers(servers: readonly ServerAddress[]): void;
}
