import { ErrorCode } from '../wire/constants.js';
import { digestId } from './acl.js';
import type { ModelConnection } from './connection.js';
import { DataTree, type Touched, type TreeChange, type Undo } from './data-tree.js';
import { Expiry } from './expiry.js';
import { planWrite, type WriteRequest } from './planner.js';
import { Reads } from './reads.js';
import type { MultiResult, Notification, Outcome, Reply, ReplyBody } from './replies.js';
import type { MultiPart, Request } from './requests.js';
import { type Session, SessionTable } from './sessions.js';
import type { Change, Transaction } from './transactions.js';
import { Watches } from './watches.js';
import { statOf } from './znode.js';

/** What happened by the passing of time alone. */
export interface TimePassed {
  outcomes: Outcome[];
  /** Connections whose session ended; they are to be closed. */
  expired: ModelConnection[];
}

/** Limits of a {@link ServerModel}; all in milliseconds. */
export interface ModelOptions {
  /** @default 1000 */
  minSessionTimeoutMs?: number;
  /** @default 60000 */
  maxSessionTimeoutMs?: number;
  /** How long an emptied container may stay. @default 60000 */
  containerGraceMs?: number;
}

/**
 * A ZooKeeper server without network, disk and clock: feed it requests and the time, and it says what to answer, whom
 * to notify and what to make durable first. The same input gives the same output.
 */
export class ServerModel {
  readonly tree = new DataTree();
  readonly sessions = new SessionTable();
  readonly watches = new Watches();
  private readonly reads = new Reads(this.tree, this.watches);
  private readonly expiry: Expiry;
  private readonly minSessionTimeoutMs: number;
  private readonly maxSessionTimeoutMs: number;
  private zxid = 0;
  private newestSessionId = 0n;

  constructor(options: ModelOptions = {}) {
    this.minSessionTimeoutMs = options.minSessionTimeoutMs ?? 1000;
    this.maxSessionTimeoutMs = options.maxSessionTimeoutMs ?? 60_000;
    this.expiry = new Expiry(this.tree, options.containerGraceMs ?? 60_000);
  }

  /** Last transaction. */
  get lastZxid(): number {
    return this.zxid;
  }

  /** Largest session id ever given out. */
  get lastSessionId(): bigint {
    return this.newestSessionId;
  }

  /**
   * Opens a session for the connection. The timeout is held to the limits.
   * @param password - 16 bytes nobody can guess
   */
  createSession(
    connection: ModelConnection,
    wanted: { timeoutMs: number; password: Buffer },
    nowMs: number,
  ): { session: Session; outcome: Outcome } {
    const timeoutMs = Math.min(Math.max(wanted.timeoutMs, this.minSessionTimeoutMs), this.maxSessionTimeoutMs);
    const byTime = BigInt(nowMs) << 12n;
    const sessionId = byTime > this.newestSessionId ? byTime : this.newestSessionId + 1n;
    const change: Change = { change: 'createSession', sessionId, timeoutMs, password: wanted.password };
    const committed = this.commit([change], nowMs);
    const session = this.existingSession(sessionId);
    this.bind(session, connection, nowMs);
    return { session, outcome: { reply: this.reply(), ...committed } };
  }

  /**
   * Attaches the connection to a session that exists. A connection attached to it before loses it and is to be closed.
   * @returns `undefined` when there is no such session or the password is wrong
   */
  attach(
    connection: ModelConnection,
    credentials: { sessionId: bigint; password: Buffer },
    nowMs: number,
  ): { session: Session; replaced: ModelConnection | undefined } | undefined {
    const session = this.sessions.get(credentials.sessionId);
    if (!session?.password.equals(credentials.password)) return undefined;
    const replaced = session.connection;
    if (replaced !== undefined) this.detach(replaced);
    this.bind(session, connection, nowMs);
    return { session, replaced };
  }

  /** The connection is gone: its watches go, its session waits for it until the timeout. Safe to repeat. */
  detach(connection: ModelConnection): void {
    this.watches.removeAll(connection);
    const session = this.sessions.get(connection.sessionId);
    if (session?.connection === connection) session.connection = undefined;
  }

  /** Proves an identity. @returns false for a scheme this server does not know; the connection is then to be closed */
  addAuth(connection: ModelConnection, scheme: string, credentials: Buffer): boolean {
    if (scheme === 'ip') return true;
    if (scheme !== 'digest') return false;
    const id = digestId(credentials.toString('utf8'));
    if (!connection.auth.some((known) => known.scheme === scheme && known.id === id)) {
      connection.auth.push({ scheme, id });
    }
    return true;
  }

  /** Carries out one request of an attached connection. */
  apply(connection: ModelConnection, request: Request, nowMs: number): Outcome {
    const session = this.sessions.get(connection.sessionId);
    if (session?.connection !== connection) {
      return { reply: this.reply(ErrorCode.sessionExpired), events: [] };
    }
    session.expiresAtMs = nowMs + session.timeoutMs;
    switch (request.op) {
      case 'create':
      case 'create2':
      case 'createContainer':
      case 'createTtl':
      case 'delete':
      case 'setData':
      case 'check':
      case 'setAcl':
        return this.write(request, connection, nowMs);
      case 'multi':
        return this.multi(request.parts, connection, nowMs);
      case 'closeSession':
        return this.closeSession(session, nowMs);
      case 'refused':
        return this.refuse(request.error, request.isWrite, nowMs);
      case 'setWatches': {
        const events: Notification[] = [];
        this.watches.setAgain(this.tree, request, connection, events);
        return { reply: this.reply(), events };
      }
      default: {
        const result = this.read(request, connection);
        if (typeof result === 'number') return { reply: this.reply(result), events: [] };
        return { reply: this.reply(ErrorCode.ok, result), events: [] };
      }
    }
  }

  /** Ends what is due: sessions nobody was heard of, TTL znodes, empty containers. */
  passTime(nowMs: number): TimePassed {
    const passed: TimePassed = { outcomes: [], expired: [] };
    for (const session of this.sessions.expired(nowMs)) {
      if (session.connection !== undefined) passed.expired.push(session.connection);
      passed.outcomes.push(this.closeSession(session, nowMs));
    }
    for (const path of this.expiry.due(nowMs)) {
      const committed = this.commit([{ change: 'delete', path }], nowMs);
      passed.outcomes.push({ reply: this.reply(), ...committed });
    }
    return passed;
  }

  /** When {@link passTime} should be called next; `undefined` when nothing is due ever. May be early, is never late. */
  nextDeadlineMs(nowMs: number): number | undefined {
    const session = this.sessions.nextExpiryMs();
    const node = this.expiry.nextDueMs(nowMs);
    if (session === undefined || node === undefined) return session ?? node;
    return Math.min(session, node);
  }

  /** Cheap lower bound of {@link nextDeadlineMs}; falls when something with an earlier deadline comes into being. */
  get earliestDeadlineMs(): number {
    return Math.min(this.sessions.earliestMs, this.expiry.earliestMs);
  }

  /** After a restart: everybody gets a full session timeout to come back, containers their grace time. */
  resume(nowMs: number): void {
    this.sessions.restart(nowMs);
    this.expiry.restart(nowMs);
  }

  /** Applies a transaction read back from disk. */
  replay(transaction: Transaction): void {
    for (const change of transaction.changes) this.applyChange(change, transaction.zxid, transaction.timeMs, []);
    this.zxid = transaction.zxid;
  }

  /** Takes over counters read back from a snapshot. */
  restoreCounters(zxid: number, lastSessionId: bigint): void {
    this.zxid = zxid;
    this.newestSessionId = lastSessionId;
  }

  private read(
    request: Exclude<Request, WriteRequest | { op: 'multi' | 'closeSession' | 'refused' | 'setWatches' }>,
    connection: ModelConnection,
  ): ReplyBody | number | undefined {
    switch (request.op) {
      case 'exists':
        return this.reads.exists(request, connection);
      case 'getData':
      case 'getChildren':
      case 'getChildren2':
        return this.reads.get(request, connection);
      case 'multiRead':
        return { kind: 'multi', results: this.reads.many(request.parts, connection) };
      case 'getAcl':
        return this.reads.acl(request.path, connection);
      case 'sync':
        return { kind: 'path', path: request.path };
      case 'ping':
        return undefined;
      case 'addWatch':
        this.watches.addPersistent(request.path, connection, request.mode);
        return { kind: 'count', count: 0 };
      case 'removeWatches':
        return this.watches.remove(request.path, connection, request.type) ? undefined : ErrorCode.noWatcher;
      case 'checkWatches':
        return this.watches.isWatched(request.path, request.type) ? undefined : ErrorCode.noWatcher;
      case 'getEphemerals':
        return this.reads.ephemerals(request.prefix, connection);
      case 'getAllChildrenNumber':
        return this.reads.allChildrenNumber(request.path, connection);
      case 'whoAmI':
        return this.reads.whoAmI(connection);
    }
  }

  private write(request: WriteRequest, connection: ModelConnection, nowMs: number): Outcome {
    const plan = planWrite(this.tree, request, connection);
    if (typeof plan === 'number') return this.refuse(plan, true, nowMs);
    if (plan === undefined) return this.refuse(ErrorCode.ok, true, nowMs);
    const committed = this.commit([plan], nowMs);
    return { reply: this.reply(ErrorCode.ok, this.writeBody(request, plan)), ...committed };
  }

  private writeBody(request: WriteRequest, { path, change }: { path: string; change: string }): ReplyBody | undefined {
    if (request.op === 'create') return { kind: 'path', path };
    const node = change === 'delete' ? undefined : this.tree.get(path);
    if (node === undefined) return undefined;
    return change === 'create' ? { kind: 'path-stat', path, stat: statOf(node) } : { kind: 'stat', stat: statOf(node) };
  }

  private multi(parts: readonly MultiPart[], connection: ModelConnection, nowMs: number): Outcome {
    const zxid = ++this.zxid;
    const changes: TreeChange[] = [];
    const touched: Touched[] = [];
    const results: MultiResult[] = [];
    const undo: Undo[] = [];
    for (const part of parts) {
      const plan = planWrite(this.tree, part, connection);
      if (typeof plan === 'number') {
        for (const revert of undo.reverse()) revert();
        const reply = this.reply(ErrorCode.ok, {
          kind: 'multi',
          results: failedResults(parts.length, results.length, plan),
        });
        return { reply, events: [], transaction: { zxid, timeMs: nowMs, changes: [] } };
      }
      if (plan !== undefined) {
        touched.push(this.tree.apply(plan, zxid, nowMs, undo));
        changes.push(plan);
      }
      results.push(this.multiResult(part, plan?.path ?? part.path));
    }
    const events: Notification[] = [];
    for (const [index, change] of changes.entries()) {
      const nodes = touched[index];
      if (nodes !== undefined) this.watches.trigger(change, nodes, events);
    }
    this.expiry.noteChanges(changes, nowMs);
    return {
      reply: this.reply(ErrorCode.ok, { kind: 'multi', results }),
      events,
      transaction: { zxid, timeMs: nowMs, changes },
    };
  }

  private multiResult(part: MultiPart, path: string): MultiResult {
    if (part.op === 'delete' || part.op === 'check') return { result: part.op };
    if (part.op === 'create') return { result: 'create', path };
    const node = this.tree.get(path);
    if (node === undefined) throw new Error(`embedded ZooKeeper: znode ${path} vanished inside a multi`);
    return part.op === 'setData'
      ? { result: 'setData', stat: statOf(node) }
      : { result: 'create2', path, stat: statOf(node) };
  }

  private closeSession(session: Session, nowMs: number): Outcome {
    const deletes = [...this.tree.ephemeralsOf(session.id)].map((path): Change => ({ change: 'delete', path }));
    const committed = this.commit([...deletes, { change: 'closeSession', sessionId: session.id }], nowMs);
    return { reply: this.reply(), ...committed };
  }

  private refuse(error: number, isWrite: boolean, nowMs: number): Outcome {
    const committed = isWrite ? this.commit([], nowMs) : { events: [] };
    return { reply: this.reply(error), ...committed };
  }

  private commit(changes: readonly Change[], timeMs: number): { events: Notification[]; transaction: Transaction } {
    const zxid = ++this.zxid;
    const events: Notification[] = [];
    for (const change of changes) this.applyChange(change, zxid, timeMs, events);
    this.expiry.noteChanges(changes, timeMs);
    return { events, transaction: { zxid, timeMs, changes } };
  }

  private applyChange(change: Change, zxid: number, timeMs: number, events: Notification[]): void {
    if (change.change === 'createSession') {
      const { sessionId: id, timeoutMs, password } = change;
      this.sessions.add({ id, timeoutMs, password, expiresAtMs: timeMs + timeoutMs, connection: undefined });
      if (id > this.newestSessionId) this.newestSessionId = id;
    } else if (change.change === 'closeSession') {
      this.sessions.remove(change.sessionId);
    } else {
      this.watches.trigger(change, this.tree.apply(change, zxid, timeMs), events);
    }
  }

  private bind(session: Session, connection: ModelConnection, nowMs: number): void {
    connection.sessionId = session.id;
    session.connection = connection;
    session.expiresAtMs = nowMs + session.timeoutMs;
  }

  private existingSession(id: bigint): Session {
    const session = this.sessions.get(id);
    if (session === undefined) throw new Error(`embedded ZooKeeper: session 0x${id.toString(16)} should exist`);
    return session;
  }

  private reply(error: number = ErrorCode.ok, body?: ReplyBody): Reply {
    return { zxid: this.zxid, error, body };
  }
}

/** Results of a multi whose part `failedAt` failed: those before it say 0, those after it say -2. */
function failedResults(count: number, failedAt: number, error: number): MultiResult[] {
  return Array.from({ length: count }, (_, index): MultiResult => {
    if (index < failedAt) return { result: 'error', error: ErrorCode.ok };
    return { result: 'error', error: index === failedAt ? error : ErrorCode.runtimeInconsistency };
  });
}
