import { isZooKeeperError, ZooKeeperError } from './contract/errors.js';
import { assertPath } from './paths.js';
import type { ServerAddress } from './contract/types.js';
import { toEnsemble } from './servers.js';
import type { StateListener, StateListeners } from './state-listeners.js';
import type { Transport } from './transport.js';
import { deleteTree, ensurePath } from './trees.js';
import type {
  Acl,
  ConnectionCounters,
  ConnectionState,
  CreateOptions,
  Operation,
  OperationResult,
  ReadOperation,
  ReadResult,
  Stat,
  WatchListener,
  ZooKeeperConnection,
} from './contract/types.js';
import type { PersistentMode, WatchRegistry } from './watches.js';
import * as decode from './wire/decode.js';
import * as encode from './wire/encode.js';
import { CreateFlag, OpCode } from './wire/opcodes.js';
import { Request, type Decoder, type Encoder, type OneShotKind } from './wire/request.js';

/** Dependencies of a {@link ZooKeeperClient}. */
export interface ClientContext {
  states: StateListeners;
  transport: Transport;
  watches: WatchRegistry;
  chroot: string;
  defaultAcl: readonly Acl[];
}

/** The typed API over the transport. */
export class ZooKeeperClient implements ZooKeeperConnection {
  readonly #transport: Transport;
  readonly #watches: WatchRegistry;
  readonly #chroot: string;
  readonly #defaultAcl: readonly Acl[];
  readonly #states: StateListeners;

  readonly counters: Readonly<ConnectionCounters>;

  constructor(context: ClientContext) {
    this.#states = context.states;
    this.#transport = context.transport;
    this.#watches = context.watches;
    this.#chroot = context.chroot;
    this.#defaultAcl = context.defaultAcl;
    this.counters = context.transport.traffic;
  }

  get state(): ConnectionState {
    return this.#states.state;
  }

  get sessionId(): bigint {
    return this.#transport.session.id.readBigInt64BE();
  }

  get sessionEpoch(): number {
    return this.#transport.session.epoch;
  }

  get sessionLeftMs(): number {
    return this.#transport.sessionLeftMs;
  }

  get serverPauseMs(): number {
    return this.#transport.serverPauseMs;
  }

  get lastFailure(): Error | undefined {
    return this.#transport.lastFailure;
  }

  onState(listener: StateListener): () => void {
    return this.#states.add(listener);
  }

  whenConnected(signal?: AbortSignal): Promise<void> {
    return this.#states.whenConnected(signal);
  }

  async create(path: string, data: Buffer | string = '', options: CreateOptions = {}): Promise<string> {
    if (options.container === true || options.ttlMs !== undefined)
      return (await this.create2(path, data, options)).path;
    const flags = encode.createFlags(options.ephemeral, options.sequential);
    return this.#create(OpCode.CREATE, path, data, flags, options, decode.decodePath);
  }

  async create2(
    path: string,
    data: Buffer | string = '',
    options: CreateOptions = {},
  ): Promise<{ path: string; stat: Stat }> {
    const { ephemeral, sequential, container, ttlMs } = options;
    if (container === true) {
      if (ephemeral === true || sequential === true || ttlMs !== undefined) {
        throw badArguments(path, 'a container cannot be ephemeral, sequential or have a time to live');
      }
      return this.#create(OpCode.CREATE_CONTAINER, path, data, CreateFlag.CONTAINER, options, decode.decodePathAndStat);
    }
    if (ttlMs !== undefined) {
      if (ephemeral === true) throw badArguments(path, 'an ephemeral znode cannot have a time to live');
      const flags = sequential === true ? CreateFlag.PERSISTENT_SEQUENTIAL_WITH_TTL : CreateFlag.PERSISTENT_WITH_TTL;
      return this.#create(OpCode.CREATE_TTL, path, data, flags, options, decode.decodePathAndStat);
    }
    const flags = encode.createFlags(ephemeral, sequential);
    return this.#create(OpCode.CREATE2, path, data, flags, options, decode.decodePathAndStat);
  }

  ensurePath(path: string): Promise<void> {
    return ensurePath(this.#rooted, this.#chroot + (path === '/' ? '' : path) || '/');
  }

  async delete(path: string, version = -1): Promise<void> {
    const request = this.#request(OpCode.DELETE, path, encode.encodePathAndVersion, decode.decodeNothing);
    request.version = version;
    return this.#send(request);
  }

  deleteRecursive(path: string): Promise<void> {
    return deleteTree(this, path);
  }

  async exists(path: string, watcher?: WatchListener): Promise<Stat | undefined> {
    const request = this.#request(OpCode.EXISTS, path, encode.encodeRead, decode.decodeOptionalStat);
    request.hasFallback = true;
    return this.#sendRead(request, 'exists', path, watcher);
  }

  async getData(path: string, watcher?: WatchListener): Promise<{ data: Buffer; stat: Stat }> {
    const request = this.#request(OpCode.GET_DATA, path, encode.encodeRead, decode.decodeData);
    return this.#sendRead(request, 'data', path, watcher);
  }

  async setData(path: string, data: Buffer | string, version = -1): Promise<Stat> {
    const request = this.#request(OpCode.SET_DATA, path, encode.encodeSetData, decode.decodeStat);
    request.data = data;
    request.version = version;
    return this.#send(request);
  }

  async getChildren(path: string, watcher?: WatchListener): Promise<string[]> {
    const request = this.#request(OpCode.GET_CHILDREN, path, encode.encodeRead, decode.decodeChildren);
    return this.#sendRead(request, 'children', path, watcher);
  }

  async getChildren2(path: string, watcher?: WatchListener): Promise<{ children: string[]; stat: Stat }> {
    const request = this.#request(OpCode.GET_CHILDREN2, path, encode.encodeRead, decode.decodeChildrenAndStat);
    return this.#sendRead(request, 'children', path, watcher);
  }

  async getAcl(path: string): Promise<{ acl: Acl[]; stat: Stat }> {
    return this.#send(this.#request(OpCode.GET_ACL, path, encode.encodePath, decode.decodeAcl));
  }

  async setAcl(path: string, acl: readonly Acl[], version = -1): Promise<Stat> {
    const request = this.#request(OpCode.SET_ACL, path, encode.encodeSetAcl, decode.decodeStat);
    request.acl = acl;
    request.version = version;
    return this.#send(request);
  }

  multi(operations: readonly Operation[]): Promise<OperationResult[]> {
    if (operations.length === 0) return Promise.resolve([]);
    return submit(this.#transport, () => {
      for (const operation of operations) assertPath(operation.path, operation.op === 'create' && operation.sequential);
      const first = (operations[0] as Operation).path;
      const request = this.#request(OpCode.MULTI, first, encode.encodeMulti, decode.decodeMulti, true);
      request.operations = operations;
      request.acl = this.#defaultAcl;
      return request;
    });
  }

  multiRead(operations: readonly ReadOperation[]): Promise<ReadResult[]> {
    if (operations.length === 0) return Promise.resolve([]);
    return submit(this.#transport, () => {
      for (const operation of operations) assertPath(operation.path);
      const first = (operations[0] as ReadOperation).path;
      const request = this.#request(OpCode.MULTI_READ, first, encode.encodeMultiRead, decode.decodeMultiRead);
      request.reads = operations;
      return request;
    });
  }

  async sync(path: string): Promise<void> {
    return this.#send(this.#request(OpCode.SYNC, path, encode.encodePath, decode.decodeNothing));
  }

  async addWatch(path: string, mode: PersistentMode, listener: WatchListener): Promise<void> {
    const request = this.#request(OpCode.ADD_WATCH, path, encode.encodeAddWatch, decode.decodeNothing);
    request.flags = encode.watchModeNumber(mode);
    this.#watches.assertPersistentAllowed(path, mode);
    // Add the listener first: events may arrive together with the reply.
    this.#watches.addPersistent(path, mode, listener);
    try {
      await this.#send(request);
    } catch (error) {
      this.#watches.removePersistent(path, listener);
      throw error;
    }
  }

  async removeWatch(path: string, listener: WatchListener): Promise<void> {
    const wasLast = this.#watches.removePersistent(path, listener);
    if (!wasLast || this.state !== 'CONNECTED') return;
    const request = this.#request(OpCode.REMOVE_WATCHES, path, encode.encodeRemoveWatches, decode.decodeNothing);
    try {
      await this.#send(request);
    } catch (error) {
      if (!isWatchGone(error)) throw error;
    }
  }

  resetServers(servers: readonly ServerAddress[]): void {
    const ensemble = toEnsemble(servers);
    if (ensemble.chroot !== this.#chroot) throw chrootError(ensemble.chroot, this.#chroot);
    this.#transport.resetServers(ensemble.servers);
  }

  close(): Promise<void> {
    const done = this.#transport.closeSession();
    this.#states.set('CLOSED');
    return done;
  }

  leave(): void {
    void this.#transport.closeSession(true);
    this.#states.set('CLOSED');
  }

  /** A view without chroot handling, for making the chroot itself. */
  readonly #rooted = {
    exists: (fullPath: string): Promise<Stat | undefined> => {
      const request = new Request<Stat | undefined>(OpCode.EXISTS, fullPath, '', encode.encodeRead, decode.decodeStat);
      request.hasFallback = true;
      return this.#send(request);
    },
    create: (fullPath: string): Promise<string> => {
      const request = new Request(OpCode.CREATE, fullPath, '', encode.encodeCreate, decode.decodePath);
      request.acl = this.#defaultAcl;
      return this.#send(request);
    },
  };

  #create<T>(
    opCode: number,
    path: string,
    data: Buffer | string,
    flags: number,
    options: CreateOptions,
    decoder: Decoder<T>,
  ): Promise<T> {
    const encoder = opCode === OpCode.CREATE_TTL ? encode.encodeCreateTtl : encode.encodeCreate;
    const request = this.#request(opCode, path, encoder, decoder, options.sequential);
    request.data = data;
    request.flags = flags;
    request.ttlMs = options.ttlMs ?? 0;
    request.acl = options.acl ?? this.#defaultAcl;
    return this.#send(request);
  }

  #request<T>(opCode: number, path: string, encoder: Encoder, decoder: Decoder<T>, isPrefix?: boolean): Request<T> {
    assertPath(path, isPrefix);
    const serverPath = this.#chroot === '' ? path : path === '/' ? this.#chroot : this.#chroot + path;
    return new Request(opCode, serverPath, this.#chroot, encoder, decoder);
  }

  #sendRead<T>(request: Request<T>, kind: OneShotKind, path: string, watcher: WatchListener | undefined): Promise<T> {
    if (watcher !== undefined) {
      this.#watches.assertNoPersistent(path);
      request.watchKind = kind;
      request.watcher = watcher;
    }
    return this.#send(request);
  }

  #send<T>(request: Request<T>): Promise<T> {
    return submit(this.#transport, () => request);
  }
}

/** Avoids the two extra promises of an `async` function for frequent requests. Rejects with errors of `make`. */
function submit<T>(transport: Transport, make: () => Request<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const request = make();
    request.settleWith(resolve, reject);
    transport.submit(request);
  });
}

/** The watch is gone on the server: it did not exist, or ended with the connection. */
function isWatchGone(error: unknown): boolean {
  return isZooKeeperError(error, 'ZK_NO_WATCHER', 'ZK_CONNECTION_LOSS', 'ZK_SESSION_EXPIRED', 'ZK_CLOSED');
}

function badArguments(path: string, why: string): ZooKeeperError {
  return new ZooKeeperError('ZK_BAD_ARGUMENTS', `create ${path}: ${why}`, { path });
}

function chrootError(chroot: string, current: string): ZooKeeperError {
  const message = `new ZooKeeper servers have chroot "${chroot}" instead of "${current}": restart to change it`;
  return new ZooKeeperError('ZK_BAD_ARGUMENTS', message);
}
