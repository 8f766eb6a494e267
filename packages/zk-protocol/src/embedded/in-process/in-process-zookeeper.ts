import { isZooKeeperError } from '../../client/contract/errors.js';
import { assertPath } from '../../client/paths.js';
import { deleteTree, ensurePath } from '../../client/trees.js';
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
  ZooKeeper,
} from '../../client/contract/types.js';
import type { Reply, ReplyBody } from '../model/replies.js';
import type { Request } from '../model/requests.js';
import type { InProcessServer } from './in-process-server.js';
import { InProcessSession, type InProcessOptions } from './in-process-session.js';
import type { PendingRequest } from './request-line.js';
import * as translate from './translate.js';

/**
 * A ZooKeeper session with an {@link InProcessServer}. It keeps the promises of the real client: events before replies,
 * both in the server's order; calls of one tick travel together; the state changes before requests fail; what was sent
 * and not answered may or may not have taken effect; watches are set again before anything else is sent.
 */
export class InProcessZooKeeper implements ZooKeeper {
  readonly counters: Readonly<ConnectionCounters>;
  readonly #session: InProcessSession;

  constructor(server: InProcessServer, options: InProcessOptions = {}) {
    this.#session = new InProcessSession(server, options);
    this.counters = this.#session.counters;
  }

  get state(): ConnectionState {
    return this.#session.states.state;
  }

  get sessionId(): bigint {
    return this.#session.id;
  }

  get sessionEpoch(): number {
    return this.#session.epoch;
  }

  // --- what may happen to it --------------------------------------------------------------------------------------

  /** The connection breaks. The session lives on if the client comes back in time. */
  breakConnection(): void {
    this.#session.breakConnection();
  }

  /** Nothing gets through for a while; both sides only notice by the silence. */
  hold(ms: number): void {
    this.#session.hold(ms);
  }

  /** The process with this client dies: no listener is called any more, the session is left to expire. */
  kill(): void {
    this.#session.kill();
  }

  // --- interface --------------------------------------------------------------------------------------------------

  onState(listener: (state: ConnectionState) => void): () => void {
    return this.#session.states.add(listener);
  }

  whenConnected(signal?: AbortSignal): Promise<void> {
    return this.#session.states.whenConnected(signal);
  }

  async create(path: string, data?: Buffer | string, options: CreateOptions = {}): Promise<string> {
    return (await this.create2(path, data, options)).path;
  }

  async create2(
    path: string,
    data?: Buffer | string,
    options: CreateOptions = {},
  ): Promise<{ path: string; stat: Stat }> {
    const { ephemeral, sequential, container, ttlMs } = options;
    assertPath(path, sequential);
    const base = { path, data: translate.toBody(data), acl: translate.toAcl(options.acl) };
    const flags = translate.createFlags(ephemeral, sequential);
    if (container === true) return this.#create({ ...base, op: 'createContainer', flags: 4 });
    if (ttlMs === undefined) return this.#create({ ...base, op: 'create2', flags });
    return this.#create({ ...base, op: 'createTtl', flags: sequential === true ? 6 : 5, ttlMs });
  }

  async ensurePath(path: string): Promise<void> {
    await ensurePath(this, path);
  }

  async delete(path: string, version = -1): Promise<void> {
    assertPath(path);
    await this.#send({ op: 'delete', path, version }, () => undefined);
  }

  deleteRecursive(path: string): Promise<void> {
    return deleteTree(this, path);
  }

  async exists(path: string, watcher?: WatchListener): Promise<Stat | undefined> {
    const request: Request = { op: 'exists', path, watch: watcher !== undefined };
    try {
      return await this.#read(request, 'exists', watcher, ({ body }) => statIn(body));
    } catch (error) {
      if (isZooKeeperError(error, 'ZK_NO_NODE')) return undefined;
      throw error;
    }
  }

  async getData(path: string, watcher?: WatchListener): Promise<{ data: Buffer; stat: Stat }> {
    return this.#read({ op: 'getData', path, watch: watcher !== undefined }, 'data', watcher, ({ body }) => ({
      data: (body?.kind === 'data' ? body.data : undefined) ?? Buffer.alloc(0),
      stat: statIn(body),
    }));
  }

  async setData(path: string, data: Buffer | string, version = -1): Promise<Stat> {
    assertPath(path);
    return this.#send({ op: 'setData', path, data: translate.toBody(data), version }, ({ body }) => statIn(body));
  }

  async getChildren(path: string, watcher?: WatchListener): Promise<string[]> {
    return (await this.getChildren2(path, watcher)).children;
  }

  async getChildren2(path: string, watcher?: WatchListener): Promise<{ children: string[]; stat: Stat }> {
    const request: Request = { op: 'getChildren2', path, watch: watcher !== undefined };
    return this.#read(request, 'children', watcher, ({ body }) => ({
      children: this.#session.conditions.arrange(body?.kind === 'strings-stat' ? [...body.strings] : []),
      stat: statIn(body),
    }));
  }

  async getAcl(path: string): Promise<{ acl: Acl[]; stat: Stat }> {
    assertPath(path);
    return this.#send({ op: 'getAcl', path }, ({ body }) => ({
      acl: body?.kind === 'acl' ? [...body.acl] : [],
      stat: statIn(body),
    }));
  }

  async setAcl(path: string, acl: readonly Acl[], version = -1): Promise<Stat> {
    assertPath(path);
    return this.#send({ op: 'setAcl', path, acl, version }, ({ body }) => statIn(body));
  }

  async multi(operations: readonly Operation[]): Promise<OperationResult[]> {
    if (operations.length === 0) return [];
    for (const operation of operations) assertPath(operation.path, operation.op === 'create' && operation.sequential);
    const request: Request = { op: 'multi', parts: operations.map(translate.toMultiPart) };
    return this.#send(request, (reply) => translate.readMulti(reply, operations), undefined, operations.length);
  }

  async multiRead(reads: readonly ReadOperation[]): Promise<ReadResult[]> {
    if (reads.length === 0) return [];
    const request: Request = { op: 'multiRead', parts: reads.map(translate.toReadPart) };
    const arrange = (names: string[]) => this.#session.conditions.arrange(names);
    return this.#send(request, (reply) => translate.readMany(reply, reads, arrange), undefined, reads.length);
  }

  async sync(path: string): Promise<void> {
    await this.#send({ op: 'sync', path }, () => undefined);
  }

  async addWatch(path: string, mode: 'persistent' | 'persistent-recursive', listener: WatchListener): Promise<void> {
    this.#session.watches.assertPersistentAllowed(path, mode);
    this.#session.watches.addPersistent(path, mode, listener);
    try {
      await this.#send({ op: 'addWatch', path, mode }, () => undefined);
    } catch (error) {
      this.#session.watches.removePersistent(path, listener);
      throw error;
    }
  }

  async removeWatch(path: string, listener: WatchListener): Promise<void> {
    const wasLast = this.#session.watches.removePersistent(path, listener);
    if (!wasLast || this.state !== 'CONNECTED') return;
    try {
      await this.#send({ op: 'removeWatches', path, type: 'any' }, () => undefined);
    } catch (error) {
      // Gone on the server is what was asked for, and a broken connection takes its watches along.
      if (!isZooKeeperError(error, 'ZK_NO_WATCHER', 'ZK_CONNECTION_LOSS', 'ZK_SESSION_EXPIRED', 'ZK_CLOSED'))
        throw error;
    }
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  // --- requests ---------------------------------------------------------------------------------------------------

  #create(request: Extract<Request, { op: 'create2' | 'create' | 'createContainer' | 'createTtl' }>) {
    return this.#send(request, ({ body }) => ({
      path: body?.kind === 'path-stat' ? body.path : request.path,
      stat: statIn(body),
    }));
  }

  #read<T>(
    request: Request & { path: string },
    kind: 'exists' | 'data' | 'children',
    listener: WatchListener | undefined,
    read: (reply: Reply) => T,
  ): Promise<T> {
    assertPath(request.path);
    if (listener === undefined) return this.#send(request, read);
    this.#session.watches.assertNoPersistent(request.path);
    return this.#send(request, read, { kind, listener });
  }

  #send<T>(request: Request, read: (reply: Reply) => T, watch?: PendingRequest['watch'], weight = 1): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const path = 'path' in request ? request.path : pathOf(request);
      const item = { what: request.op, path, request, weight, watch, read, reject };
      this.#session.submit({ ...item, resolve: resolve as (value: unknown) => void });
    });
  }
}

function statIn(body: ReplyBody | undefined): Stat {
  if (body !== undefined && 'stat' in body) return translate.toStat(body.stat);
  throw new Error('the reply carries no stat');
}

function pathOf(request: Request): string {
  return 'parts' in request ? (request.parts[0]?.path ?? '/') : '/';
}
