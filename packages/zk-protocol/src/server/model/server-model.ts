import { ErrorCode } from './constants.js';
import type { ModelConnection } from './connection.js';
import { DataTree } from './data-tree.js';
import { Expiry } from './expiry.js';
import { planWrite, type WriteRequest } from './planner.js';
import { Reads } from './reads.js';
import { MAX_SESSIONS } from './limits.js';
import type { Moment } from './moment.js';
import { applyMulti } from './multi.js';
import type { Notification, Outcome, Reply, ReplyBody } from './replies.js';
import type { MultiPart, Request } from './requests.js';
import { type OfferedSession, type Session, SessionTable } from './sessions.js';
import { finish, type Sliced } from './sliced.js';
import type { Change, Transaction } from './transactions.js';
import { Watches } from './watches.js';
import { statOf } from './znode.js';

/** Effects of the passing of time. */
export interface TimePassed {
  outcomes: Outcome[];
  /** Connections to close, as their session ended. */
  expired: ModelConnection[];
}

type WantedSession = Pick<OfferedSession, 'timeoutMs' | 'password'>;

interface Committed {
  events: Notification[];
  transaction: Transaction;
}

/** Settings of a {@link ServerModel}; times in milliseconds. */
export interface ModelOptions {
  /** @default 1000 */
  minSessionTimeoutMs?: number;
  /** @default 60000 */
  maxSessionTimeoutMs?: number;
  /** Time until an empty container is deleted. @default 60000 */
  containerGraceMs?: number;
  /** Sorts lists of children. @default the order of creation */
  arrange?: (names: string[]) => string[];
}

/**
 * A ZooKeeper server without network, disk and clock: maps requests and times to replies, events and transactions. It is
 * deterministic.
 */
export class ServerModel {
  readonly tree = new DataTree();
  readonly sessions = new SessionTable();
  readonly watches = new Watches();
  private readonly reads: Reads;
  private readonly expiry: Expiry;
  private readonly minSessionTimeoutMs: number;
  private readonly maxSessionTimeoutMs: number;
  private zxid = 0;

  constructor(options: ModelOptions = {}) {
    this.minSessionTimeoutMs = options.minSessionTimeoutMs ?? 1000;
    this.maxSessionTimeoutMs = options.maxSessionTimeoutMs ?? 60_000;
    this.reads = new Reads(this.tree, this.watches, options.arrange ?? ((names) => names));
    this.expiry = new Expiry(this.tree, options.containerGraceMs ?? 60_000);
  }

  /** Id of the last transaction. */
  get lastZxid(): number {
    return this.zxid;
  }

  /** Largest session id ever given out. */
  get lastSessionId(): bigint {
    return this.sessions.lastId;
  }

  /** Whether another session may be opened. */
  get takesSessions(): boolean {
    return this.sessions.size < MAX_SESSIONS;
  }

  /**
   * Prepares a session that begins with {@link openSession}. Clamps the timeout to the limits.
   * @param wanted - the password must be 16 random bytes
   */
  offerSession(wanted: WantedSession, at: Moment): OfferedSession {
    const timeoutMs = Math.min(Math.max(wanted.timeoutMs, this.minSessionTimeoutMs), this.maxSessionTimeoutMs);
    return { id: this.sessions.takeId(at.wallMs), timeoutMs, password: wanted.password };
  }

  /** Opens an offered session for the connection. */
  openSession(connection: ModelConnection, offered: OfferedSession, at: Moment): Outcome {
    const { id: sessionId, timeoutMs, password } = offered;
    const committed = this.commit([{ change: 'createSession', sessionId, timeoutMs, password }], at);
    bind(this.sessions.existing(sessionId), connection, at);
    return { reply: this.reply(), ...committed };
  }

  /**
   * Attaches the connection to an existing session. Close the connection that was attached before.
   * @returns `undefined` if the session does not exist or the password is wrong
   */
  attach(
    connection: ModelConnection,
    credentials: { sessionId: bigint; password: Buffer },
    at: Moment,
  ): { session: Session; replaced: ModelConnection | undefined } | undefined {
    const session = this.sessions.get(credentials.sessionId);
    if (!session?.password.equals(credentials.password)) return undefined;
    const replaced = session.connection;
    if (replaced !== undefined) this.detach(replaced);
    bind(session, connection, at);
    return { session, replaced };
  }

  /** Removes a closed connection and its watches; its session waits until its timeout. Safe to repeat. */
  detach(connection: ModelConnection): void {
    this.watches.removeAll(connection);
    const session = this.sessions.get(connection.sessionId);
    if (session?.connection === connection) session.connection = undefined;
  }

  /** Executes a request of an attached connection. */
  apply(connection: ModelConnection, request: Request, at: Moment): Outcome {
    return finish(this.applySliced(connection, request, at));
  }

  /** As {@link apply}, in slices. */
  *applySliced(connection: ModelConnection, request: Request, at: Moment): Sliced<Outcome> {
    const session = this.sessions.get(connection.sessionId);
    if (session?.connection !== connection) {
      return { reply: this.reply(ErrorCode.sessionExpired), events: [] };
    }
    session.expiresAtMs = at.steadyMs + session.timeoutMs;
    switch (request.op) {
      case 'create':
      case 'create2':
      case 'createContainer':
      case 'createTtl':
      case 'delete':
      case 'setData':
      case 'check':
      case 'setAcl':
        return this.write(request, connection, at);
      case 'multi':
        return yield* this.multi(request.parts, connection, at);
      case 'closeSession':
        return yield* this.closeSession(session, at);
      case 'refused':
        return this.refuse(request.error, request.isWrite, at);
      case 'setWatches': {
        const events: Notification[] = [];
        yield* this.watches.setAgain(this.tree, request, connection, events);
        return { reply: this.reply(), events };
      }
      default: {
        const result = this.reads.answer(request, connection);
        if (typeof result === 'number') return { reply: this.reply(result), events: [] };
        return { reply: this.reply(ErrorCode.ok, result), events: [] };
      }
    }
  }

  /** Ends silent sessions, and deletes expired TTL znodes and empty containers. */
  passTime(at: Moment): TimePassed {
    return finish(this.passTimeSliced(at));
  }

  /** As {@link passTime}, in slices. */
  *passTimeSliced(at: Moment): Sliced<TimePassed> {
    const passed: TimePassed = { outcomes: [], expired: [] };
    for (const session of this.sessions.expired(at.steadyMs)) {
      if (session.connection !== undefined) passed.expired.push(session.connection);
      passed.outcomes.push(yield* this.closeSession(session, at));
    }
    for (const path of this.expiry.due(at.steadyMs)) {
      const committed = this.commit([{ change: 'delete', path }], at);
      passed.outcomes.push({ reply: this.reply(), ...committed });
    }
    return passed;
  }

  /** Steady time of the next call of {@link passTime}; `undefined` if there is none. May be early, never late. */
  nextDeadlineMs(): number | undefined {
    const session = this.sessions.nextExpiryMs();
    const node = this.expiry.nextDueMs();
    if (session === undefined || node === undefined) return session ?? node;
    return Math.min(session, node);
  }

  /** Cheap lower bound of {@link nextDeadlineMs}. */
  get earliestDeadlineMs(): number {
    return Math.min(this.sessions.earliestMs, this.expiry.earliestMs);
  }

  /** After a restart: sessions get their full timeout, containers their grace time. */
  resume(at: Moment): void {
    this.sessions.restart(at.steadyMs);
    this.expiry.restart(at);
  }

  /** Applies a transaction read from disk. */
  replay(transaction: Transaction): void {
    // Steady times of an earlier process are meaningless; resume() sets the deadlines.
    const at = { wallMs: transaction.timeMs, steadyMs: 0 };
    for (const change of transaction.changes) this.applyChange(change, transaction.zxid, at, []);
    this.zxid = transaction.zxid;
  }

  /** Sets the counters read from a snapshot. */
  restoreCounters(zxid: number, lastSessionId: bigint): void {
    this.zxid = zxid;
    this.sessions.lastId = lastSessionId;
  }

  private write(request: WriteRequest, connection: ModelConnection, at: Moment): Outcome {
    const plan = planWrite(this.tree, request, connection);
    if (typeof plan === 'number') return this.refuse(plan, true, at);
    if (plan === undefined) return this.refuse(ErrorCode.ok, true, at);
    const committed = this.commit([plan], at);
    return { reply: this.reply(ErrorCode.ok, this.writeBody(request, plan)), ...committed };
  }

  private writeBody(request: WriteRequest, { path, change }: { path: string; change: string }): ReplyBody | undefined {
    if (request.op === 'create') return { kind: 'path', path };
    const node = change === 'delete' ? undefined : this.tree.get(path);
    if (node === undefined) return undefined;
    return change === 'create' ? { kind: 'path-stat', path, stat: statOf(node) } : { kind: 'stat', stat: statOf(node) };
  }

  private *multi(parts: readonly MultiPart[], connection: ModelConnection, at: Moment): Sliced<Outcome> {
    const zxid = ++this.zxid;
    const { results, changes, touched } = yield* applyMulti(this.tree, parts, connection, { zxid, timeMs: at.wallMs });
    const events: Notification[] = [];
    for (const [index, change] of changes.entries()) {
      const nodes = touched[index];
      if (nodes !== undefined) this.watches.trigger(change, nodes, events);
      yield;
    }
    for (const change of changes) this.expiry.noteChange(change, at.steadyMs);
    return {
      reply: this.reply(ErrorCode.ok, { kind: 'multi', results }),
      events,
      transaction: { zxid, timeMs: at.wallMs, changes },
    };
  }

  private *closeSession(session: Session, at: Moment): Sliced<Outcome> {
    const changes: Change[] = [];
    for (const path of this.tree.ephemeralsOf(session.id)) {
      changes.push({ change: 'delete', path });
      yield;
    }
    changes.push({ change: 'closeSession', sessionId: session.id });
    const committed = yield* this.commitSliced(changes, at);
    return { reply: this.reply(), ...committed };
  }

  private refuse(error: number, isWrite: boolean, at: Moment): Outcome {
    const committed = isWrite ? this.commit([], at) : { events: [] };
    return { reply: this.reply(error), ...committed };
  }

  private commit(changes: readonly Change[], at: Moment): Committed {
    return finish(this.commitSliced(changes, at));
  }

  private *commitSliced(changes: readonly Change[], at: Moment): Sliced<Committed> {
    const zxid = ++this.zxid;
    const events: Notification[] = [];
    for (const change of changes) {
      this.applyChange(change, zxid, at, events);
      this.expiry.noteChange(change, at.steadyMs);
      yield;
    }
    return { events, transaction: { zxid, timeMs: at.wallMs, changes } };
  }

  private applyChange(change: Change, zxid: number, at: Moment, events: Notification[]): void {
    if (change.change === 'createSession') {
      const { sessionId: id, timeoutMs, password } = change;
      this.sessions.add({ id, timeoutMs, password, expiresAtMs: at.steadyMs + timeoutMs, connection: undefined });
    } else if (change.change === 'closeSession') {
      this.sessions.remove(change.sessionId);
    } else {
      this.watches.trigger(change, this.tree.apply(change, zxid, at.wallMs), events);
    }
  }

  private reply(error: number = ErrorCode.ok, body?: ReplyBody): Reply {
    return { zxid: this.zxid, error, body };
  }
}

function bind(session: Session, connection: ModelConnection, at: Moment): void {
  connection.sessionId = session.id;
  session.connection = connection;
  session.expiresAtMs = at.steadyMs + session.timeoutMs;
}
