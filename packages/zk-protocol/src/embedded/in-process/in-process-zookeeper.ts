import { steadyNow, systemClock, type CancelTimer, type Clock } from '../../base/clock.js';
import { Backoff } from '../../client/backoff.js';
import { ZooKeeperError, isZooKeeperError, type ZooKeeperErrorCode } from '../../client/contract/errors.js';
import { assertPath } from '../../client/paths.js';
import { deleteTree, ensurePath } from '../../client/trees.js';
import type * as api from '../../client/contract/types.js';
import { WatchRegistry } from '../../client/watches.js';
import { EventType, type EventTypeNumber } from '../model/constants.js';
import type { Notification, Reply, ReplyBody } from '../model/replies.js';
import type { Request, SetWatchesRequest } from '../model/requests.js';
import { perfectConditions, type LinkConditions } from './conditions.js';
import type { InProcessServer } from './in-process-server.js';
import { Link } from './link.js';
import * as translate from './translate.js';

/** How an {@link InProcessZooKeeper} behaves. */
export interface InProcessOptions {
  /** Time at the client. @default the machine's clock */
  clock?: Clock;
  /** Time on the way and at the server. @default the client's */
  serverClock?: Clock;
  /** @default 10000 */
  sessionTimeoutMs?: number;
  /** @default {@link perfectConditions} */
  conditions?: LinkConditions;
  /** Number in [0, 1). @default Math.random */
  random?: () => number;
  /** Told of a watch or state listener that threw. @default it is thrown on */
  onListenerError?: (error: unknown) => void;
}

type TimerName = 'attempt' | 'expiry' | 'wait' | 'ping' | 'silence' | 'close';

/** A request with what its caller is to get. */
interface Pending {
  readonly what: string;
  readonly path: string;
  readonly request: Request;
  readonly weight: number;
  readonly watch: { kind: 'exists' | 'data' | 'children'; listener: api.WatchListener } | undefined;
  /** Makes the result of the reply; may throw what the caller is to get. */
  readonly read: (reply: Reply) => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

type InFlight = Pending | { ping: number } | 'set-watches';

const DEFAULT_SESSION_TIMEOUT_MS = 10_000;
const CLOSE_DEADLINE_MS = 1_000;
const EVENT_TYPES: Record<EventTypeNumber, api.WatchEvent['type']> = {
  [EventType.created]: 'created',
  [EventType.deleted]: 'deleted',
  [EventType.changed]: 'changed',
  [EventType.children]: 'children',
};

/**
 * A ZooKeeper session with an {@link InProcessServer}. It keeps the promises of the real client: events before replies,
 * both in the server's order; calls of one tick travel together; the state changes before requests fail; what was sent
 * and not answered may or may not have taken effect; watches are set again before anything else is sent.
 */
export class InProcessZooKeeper implements api.ZooKeeper {
  readonly counters = { requests: 0, operations: 0, events: 0, pending: 0 };
  readonly #server: InProcessServer;
  readonly #clock: Clock;
  readonly #serverClock: Clock;
  readonly #conditions: LinkConditions;
  readonly #backoff: Backoff;
  readonly #timeoutMs: number;
  readonly #onListenerError: (error: unknown) => void;
  readonly #watches = new WatchRegistry();
  readonly #stateListeners = new Set<(state: api.ConnectionState) => void>();
  readonly #waiting: Pending[] = [];
  #inFlight: InFlight[] = [];
  #state: api.ConnectionState = 'SUSPENDED';
  #link: Link | undefined;
  #credentials: { sessionId: bigint; password: Buffer } = { sessionId: 0n, password: Buffer.alloc(16) };
  #epoch = 0;
  #lastZxid = 0;
  #isFlushScheduled = false;
  #isDead = false;
  #confirmedAtMs = 0;
  #heardAtMs = 0;
  #closing: { done: Promise<void>; finish: () => void } | undefined;
  readonly #timers = new Map<TimerName, CancelTimer>();

  constructor(server: InProcessServer, options: InProcessOptions = {}) {
    this.#server = server;
    this.#clock = options.clock ?? systemClock;
    this.#serverClock = options.serverClock ?? this.#clock;
    this.#conditions = options.conditions ?? perfectConditions;
    this.#timeoutMs = options.sessionTimeoutMs ?? DEFAULT_SESSION_TIMEOUT_MS;
    this.#backoff = new Backoff(this.#timeoutMs, options.random ?? Math.random);
    this.#onListenerError =
      options.onListenerError ??
      ((error) => {
        throw error;
      });
    this.#attempt();
  }

  get state(): api.ConnectionState {
    return this.#state;
  }

  get sessionId(): bigint {
    return this.#credentials.sessionId;
  }

  get sessionEpoch(): number {
    return this.#epoch;
  }

  // --- what may happen to it --------------------------------------------------------------------------------------

  /** The connection breaks. The session lives on if the client comes back in time. */
  breakConnection(): void {
    this.#link?.break();
  }

  /** Nothing gets through for a while; both sides only notice by the silence. */
  hold(ms: number): void {
    this.#link?.holdUntil(this.#serverClock.now() + ms);
  }

  /** The process with this client dies: nobody is told anything any more, the session is left to expire. */
  kill(): void {
    this.#isDead = true;
    for (const name of [...this.#timers.keys()]) this.#cancel(name);
    this.#waiting.length = 0;
    this.#inFlight = [];
    this.#link?.break();
    this.#link = undefined;
  }

  // --- interface --------------------------------------------------------------------------------------------------

  onState(listener: (state: api.ConnectionState) => void): () => void {
    const own = (state: api.ConnectionState) => listener(state);
    this.#stateListeners.add(own);
    return () => this.#stateListeners.delete(own);
  }

  whenConnected(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (state: api.ConnectionState) => {
        if (state === 'CONNECTED') resolve();
        else if (state === 'CLOSED') reject(new ZooKeeperError('ZK_CLOSED', 'the ZooKeeper client is closed'));
        else if (signal?.aborted === true) reject(signal.reason as Error);
        else return;
        unsubscribe();
        signal?.removeEventListener('abort', onAbort);
      };
      const onAbort = () => settle(this.#state);
      const unsubscribe = this.onState(settle);
      signal?.addEventListener('abort', onAbort, { once: true });
      settle(this.#state);
    });
  }

  async create(path: string, data?: Buffer | string, options: api.CreateOptions = {}): Promise<string> {
    return (await this.create2(path, data, options)).path;
  }

  async create2(
    path: string,
    data?: Buffer | string,
    options: api.CreateOptions = {},
  ): Promise<{ path: string; stat: api.Stat }> {
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

  async exists(path: string, watcher?: api.WatchListener): Promise<api.Stat | undefined> {
    const request: Request = { op: 'exists', path, watch: watcher !== undefined };
    try {
      return await this.#read(request, 'exists', watcher, ({ body }) => statIn(body));
    } catch (error) {
      if (isZooKeeperError(error, 'ZK_NO_NODE')) return undefined;
      throw error;
    }
  }

  async getData(path: string, watcher?: api.WatchListener): Promise<{ data: Buffer; stat: api.Stat }> {
    return this.#read({ op: 'getData', path, watch: watcher !== undefined }, 'data', watcher, ({ body }) => ({
      data: (body?.kind === 'data' ? body.data : undefined) ?? Buffer.alloc(0),
      stat: statIn(body),
    }));
  }

  async setData(path: string, data: Buffer | string, version = -1): Promise<api.Stat> {
    assertPath(path);
    return this.#send({ op: 'setData', path, data: translate.toBody(data), version }, ({ body }) => statIn(body));
  }

  async getChildren(path: string, watcher?: api.WatchListener): Promise<string[]> {
    return (await this.getChildren2(path, watcher)).children;
  }

  async getChildren2(path: string, watcher?: api.WatchListener): Promise<{ children: string[]; stat: api.Stat }> {
    const request: Request = { op: 'getChildren2', path, watch: watcher !== undefined };
    return this.#read(request, 'children', watcher, ({ body }) => ({
      children: this.#conditions.arrange(body?.kind === 'strings-stat' ? [...body.strings] : []),
      stat: statIn(body),
    }));
  }

  async getAcl(path: string): Promise<{ acl: api.Acl[]; stat: api.Stat }> {
    assertPath(path);
    return this.#send({ op: 'getAcl', path }, ({ body }) => ({
      acl: body?.kind === 'acl' ? [...body.acl] : [],
      stat: statIn(body),
    }));
  }

  async setAcl(path: string, acl: readonly api.Acl[], version = -1): Promise<api.Stat> {
    assertPath(path);
    return this.#send({ op: 'setAcl', path, acl, version }, ({ body }) => statIn(body));
  }

  async multi(operations: readonly api.Operation[]): Promise<api.OperationResult[]> {
    if (operations.length === 0) return [];
    for (const operation of operations) assertPath(operation.path, operation.op === 'create' && operation.sequential);
    const request: Request = { op: 'multi', parts: operations.map(translate.toMultiPart) };
    return this.#send(request, (reply) => translate.readMulti(reply, operations), undefined, operations.length);
  }

  async multiRead(reads: readonly api.ReadOperation[]): Promise<api.ReadResult[]> {
    if (reads.length === 0) return [];
    const request: Request = { op: 'multiRead', parts: reads.map(translate.toReadPart) };
    const arrange = (names: string[]) => this.#conditions.arrange(names);
    return this.#send(request, (reply) => translate.readMany(reply, reads, arrange), undefined, reads.length);
  }

  async sync(path: string): Promise<void> {
    await this.#send({ op: 'sync', path }, () => undefined);
  }

  async addWatch(
    path: string,
    mode: 'persistent' | 'persistent-recursive',
    listener: api.WatchListener,
  ): Promise<void> {
    this.#watches.assertPersistentAllowed(path, mode);
    this.#watches.addPersistent(path, mode, listener);
    try {
      await this.#send({ op: 'addWatch', path, mode }, () => undefined);
    } catch (error) {
      this.#watches.removePersistent(path, listener);
      throw error;
    }
  }

  async removeWatch(path: string, listener: api.WatchListener): Promise<void> {
    const wasLast = this.#watches.removePersistent(path, listener);
    if (!wasLast || this.#state !== 'CONNECTED') return;
    try {
      await this.#send({ op: 'removeWatches', path, type: 'any' }, () => undefined);
    } catch (error) {
      // Gone on the server is what was asked for, and a broken connection takes its watches along.
      if (!isZooKeeperError(error, 'ZK_NO_WATCHER', 'ZK_CONNECTION_LOSS', 'ZK_SESSION_EXPIRED', 'ZK_CLOSED'))
        throw error;
    }
  }

  close(): Promise<void> {
    if (this.#closing !== undefined) return this.#closing.done;
    let finish = () => {};
    const done = new Promise<void>((resolve) => (finish = resolve));
    this.#closing = { done, finish };
    this.#setTimer('close', CLOSE_DEADLINE_MS, () => this.#finishClose());
    if (this.#link !== undefined) {
      const end = () => this.#finishClose();
      this.#waiting.push(pending('close', { op: 'closeSession' }, () => undefined, end, end));
      this.#flush();
    } else if (this.#credentials.sessionId === 0n) {
      this.#finishClose();
    } else {
      this.#failWaiting('ZK_CLOSED', 'the ZooKeeper client is closed');
    }
    this.#setState('CLOSED');
    return done;
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
    listener: api.WatchListener | undefined,
    read: (reply: Reply) => T,
  ): Promise<T> {
    assertPath(request.path);
    if (listener === undefined) return this.#send(request, read);
    this.#watches.assertNoPersistent(request.path);
    return this.#send(request, read, { kind, listener });
  }

  #send<T>(request: Request, read: (reply: Reply) => T, watch?: Pending['watch'], weight = 1): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const path = 'path' in request ? request.path : pathOf(request);
      const item = { what: request.op, path, request, weight, watch, read, reject };
      this.#submit({ ...item, resolve: resolve as (value: unknown) => void });
    });
  }

  #submit(item: Pending): void {
    if (this.#isDead) return;
    if (this.#closing !== undefined) {
      item.reject(new ZooKeeperError('ZK_CLOSED', `${item.what} ${item.path}: the ZooKeeper client is closed`));
      return;
    }
    this.#waiting.push(item);
    this.#count();
    if (this.#link !== undefined) this.#scheduleFlush();
    else this.#limitWait();
  }

  #scheduleFlush(): void {
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    setImmediate(() => {
      this.#isFlushScheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#link === undefined || this.#waiting.length === 0) return;
    const batch = this.#waiting.splice(0);
    this.#inFlight.push(...batch);
    for (const { weight } of batch) {
      this.counters.requests += 1;
      this.counters.operations += weight;
    }
    this.#link.send(batch.map(({ request }) => request));
  }

  #onReply(reply: Reply): void {
    this.#heardAtMs = steadyNow(this.#clock);
    const item = this.#inFlight.shift();
    this.#count();
    if (item === undefined || item === 'set-watches') return;
    if (reply.zxid > 0) this.#lastZxid = reply.zxid;
    if ('ping' in item) {
      this.#confirmedAtMs = item.ping;
      return;
    }
    this.#noteWatch(item, reply.error);
    try {
      if (reply.error !== 0) throw translate.replyError(reply.error, item.what, item.path);
      item.resolve(item.read(reply));
    } catch (error) {
      item.reject(error as Error);
    }
  }

  #noteWatch({ watch, path }: Pending, error: number): void {
    if (watch === undefined) return;
    const { kind, listener } = watch;
    if (error === 0) this.#watches.addOneShot(kind === 'children' ? 'children' : 'data', path, listener);
    else if (kind === 'exists' && error === -101) this.#watches.addOneShot('exists', path, listener);
  }

  #onEvent({ type, path }: Notification): void {
    this.#heardAtMs = steadyNow(this.#clock);
    this.counters.events += 1;
    this.#watches.dispatch({ type: EVENT_TYPES[type], path }, (listener, event) => {
      this.#guarded(() => listener(event));
    });
  }

  #count(): void {
    this.counters.pending = this.#waiting.length + this.#inFlight.length;
  }

  #failWaiting(code: ZooKeeperErrorCode, why: string): void {
    const waiting = this.#waiting.splice(0);
    this.#count();
    for (const { what, path, reject } of waiting) reject(new ZooKeeperError(code, `${what} ${path}: ${why}`, { path }));
  }

  /** Without a session nothing expires: requests wait one session timeout for the first connection. */
  #limitWait(): void {
    if (this.#timers.has('expiry') || this.#timers.has('wait')) return;
    this.#setTimer('wait', this.#timeoutMs, () => {
      this.#failWaiting('ZK_CONNECTION_LOSS', 'no ZooKeeper server could be reached in time; it has not been sent');
    });
  }

  // --- connection -------------------------------------------------------------------------------------------------

  #attempt(): void {
    this.#setTimer('attempt', this.#conditions.connectDelayMs(), () => {
      if (this.#conditions.canConnect()) this.#connect();
      else this.#setTimer('attempt', this.#backoff.next(), () => this.#attempt());
    });
  }

  #connect(): void {
    const link: Link = new Link(this.#server, this.#serverClock, this.#clock, this.#conditions, {
      event: (event) => this.#onEvent(event),
      reply: (reply) => this.#onReply(reply),
      broken: () => {
        if (this.#link === link) this.#onBroken();
      },
    });
    const isNew = this.#credentials.sessionId === 0n;
    const session = isNew ? link.open(this.#timeoutMs) : link.attach(this.#credentials);
    if (session === undefined) {
      this.#expire();
      return;
    }
    this.#link = link;
    if (isNew) this.#epoch += 1;
    this.#credentials = { sessionId: session.id, password: session.password };
    this.#backoff.reset();
    this.#cancel('expiry');
    this.#cancel('wait');
    this.#startHeartbeat();
    this.#setWatchesAgain(link);
    if (this.#closing !== undefined) {
      const end = () => this.#finishClose();
      this.#waiting.push(pending('close', { op: 'closeSession' }, () => undefined, end, end));
    }
    this.#scheduleFlush();
    this.#setState('CONNECTED');
  }

  #setWatchesAgain(link: Link): void {
    for (const { data, exists: exist, children: child, persistent, recursive } of this.#watches.packets((p) => p)) {
      const lists = { data, exist, child, persistent, persistentRecursive: recursive };
      const request: SetWatchesRequest = { op: 'setWatches', relativeZxid: this.#lastZxid, ...lists };
      this.#inFlight.push('set-watches');
      link.send([request]);
    }
  }

  #onBroken(): void {
    this.#link = undefined;
    this.#cancel('ping');
    this.#cancel('silence');
    const unanswered = this.#inFlight.filter((item) => typeof item === 'object' && 'reject' in item);
    this.#inFlight = [];
    if (this.#isDead) return;
    if (this.#closing !== undefined) {
      this.#finishClose();
      return;
    }
    // The state first: who hears of a failed request finds it changed already.
    this.#setState('SUSPENDED');
    for (const { what, path, reject } of unanswered) {
      const message = `${what} ${path}: the connection broke before the answer; it may or may not have taken effect`;
      reject(new ZooKeeperError('ZK_CONNECTION_LOSS', message, { path }));
    }
    const remainingMs = this.#confirmedAtMs + this.#timeoutMs - steadyNow(this.#clock);
    if (remainingMs <= 0) {
      this.#expire();
      return;
    }
    this.#setTimer('expiry', remainingMs, () => this.#expire());
    this.#attempt();
  }

  /** The session is over: everybody is told, and a new one is asked for. */
  #expire(): void {
    this.#cancel('attempt');
    this.#cancel('expiry');
    this.#credentials = { sessionId: 0n, password: Buffer.alloc(16) };
    this.#lastZxid = 0;
    this.#watches.dropOneShots();
    if (this.#closing !== undefined) {
      this.#finishClose();
      return;
    }
    this.#setState('LOST');
    this.#failWaiting('ZK_SESSION_EXPIRED', 'the session ended before it could be sent; it has not taken effect');
    this.#attempt();
  }

  #finishClose(): void {
    for (const name of [...this.#timers.keys()]) this.#cancel(name);
    const link = this.#link;
    this.#link = undefined;
    link?.break();
    const unanswered = this.#inFlight.filter((item) => typeof item === 'object' && 'reject' in item);
    this.#inFlight = [];
    for (const { what, path, reject } of unanswered) {
      reject(new ZooKeeperError('ZK_CLOSED', `${what} ${path}: the ZooKeeper client is closed`, { path }));
    }
    this.#failWaiting('ZK_CLOSED', 'the ZooKeeper client is closed');
    this.#closing?.finish();
  }

  #startHeartbeat(): void {
    this.#confirmedAtMs = steadyNow(this.#clock);
    this.#heardAtMs = this.#confirmedAtMs;
    const ping = () => {
      this.#inFlight.push({ ping: steadyNow(this.#clock) });
      this.#link?.send([{ op: 'ping' }]);
      this.#setTimer('ping', this.#timeoutMs / 4, ping);
    };
    this.#setTimer('ping', this.#timeoutMs / 4, ping);
    this.#watchSilence(this.#timeoutMs / 2);
  }

  #watchSilence(waitMs: number): void {
    const limitMs = Math.floor((this.#timeoutMs * 2) / 3); // a clock may count whole ones
    this.#setTimer('silence', waitMs, () => {
      const silentMs = steadyNow(this.#clock) - this.#heardAtMs;
      if (silentMs >= limitMs) this.#link?.break();
      else this.#watchSilence(limitMs - silentMs);
    });
  }

  // --- bookkeeping ------------------------------------------------------------------------------------------------

  #setTimer(name: TimerName, ms: number, fire: () => void): void {
    this.#cancel(name);
    const cancel = this.#clock.setTimer(ms, () => {
      this.#timers.delete(name);
      fire();
    });
    this.#timers.set(name, cancel);
  }

  #cancel(name: TimerName): void {
    this.#timers.get(name)?.();
    this.#timers.delete(name);
  }

  #setState(state: api.ConnectionState): void {
    if (this.#state === state || this.#state === 'CLOSED') return;
    this.#state = state;
    for (const listener of [...this.#stateListeners]) this.#guarded(() => listener(state));
  }

  #guarded(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#onListenerError(error);
    }
  }
}

function pending(
  what: string,
  request: Request,
  read: (reply: Reply) => unknown,
  resolve: () => void,
  reject: () => void,
): Pending {
  return { what, path: '/', request, weight: 1, watch: undefined, read, resolve, reject };
}

function statIn(body: ReplyBody | undefined): api.Stat {
  if (body !== undefined && 'stat' in body) return translate.toStat(body.stat);
  throw new Error('the reply carries no stat');
}

function pathOf(request: Request): string {
  return 'parts' in request ? (request.parts[0]?.path ?? '/') : '/';
}
