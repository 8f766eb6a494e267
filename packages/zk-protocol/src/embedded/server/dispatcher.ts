import { randomBytes } from 'node:crypto';
import { type Clock, steadyNow } from '../../base/clock.js';
import type { ModelConnection } from '../model/connection.js';
import { type Moment, momentOf } from '../model/moment.js';
import type { Notification, Outcome } from '../model/replies.js';
import type { Request } from '../model/requests.js';
import type { Store } from '../storage/store.js';
import type { EmbeddedLogger } from '../contract/logger.js';
import { ErrorCode, Xid } from '../model/constants.js';
import type { ClientConnection, ConnectionHandler, ConnectRequest } from './client-connection.js';
import { ConnectionGate, type ConnectionLimits } from './connection-limits.js';
import { DeadlineTimer } from './deadline-timer.js';
import { answerCommand, tellsNoSecrets } from './four-letter-words.js';
import type { Login } from './login.js';

const PASSWORD_BYTES = 16;
/** A connection that says nothing is closed after this time. */
const HANDSHAKE_MS = 30_000;
/** Where there is a login, a connection that has not logged in after this time is closed. */
const LOGIN_MS = 5_000;
/** One that has been told everything and does not hang up is closed after this time. */
const CLOSING_MS = 5_000;
/** With more than this waiting for the disk, clients that send are not read until it has caught up. */
const MAX_PENDING_BYTES = 16 * 1024 * 1024;
const NO_SESSION = { timeoutMs: 0, id: 0n, password: Buffer.alloc(PASSWORD_BYTES) };
const NEEDS_NO_LOGIN = new Set<Request['op']>(['ping', 'closeSession']);
const NOT_LOGGED_IN: Request = { op: 'refused', error: ErrorCode.noAuth, isWrite: false };
const NOT_SERVING = 'This ZooKeeper instance is not currently serving requests\n';

/** Carries requests to the model, changes to the log, and answers back once the log is durable. */
export class Dispatcher implements ConnectionHandler {
  private readonly byModel = new Map<ModelConnection, ClientConnection>();
  private readonly waiting = new Set<ClientConnection>();
  private readonly timer: DeadlineTimer;
  private received = 0;
  private sent = 0;
  /** What clients have to prove; `undefined` serves everybody. */
  login: Login | undefined;
  private readonly startedAtMs: number;
  private readonly gate: ConnectionGate;

  constructor(
    private store: Store | undefined,
    private readonly clock: Clock,
    private readonly logger: EmbeddedLogger,
    private readonly configuration: Record<string, string | number>,
    limits: ConnectionLimits,
  ) {
    this.gate = new ConnectionGate(limits, logger);
    this.startedAtMs = steadyNow(clock);
    this.timer = new DeadlineTimer(clock, (pauseMs) => this.onDeadline(pauseMs));
  }

  get lastBatch(): number {
    return this.store?.lastBatch ?? 0;
  }

  get isBusy(): boolean {
    return this.store !== undefined && this.store.pendingBytes > MAX_PENDING_BYTES;
  }

  /** Begins to serve a store's data. */
  serve(store: Store): void {
    this.store = store;
    store.model.resume(momentOf(this.clock));
    this.arm();
  }

  /** Drops every connection, and whatever was to be sent, and turns clients away until {@link serve}. */
  suspend(reason: string): void {
    this.timer.stop();
    this.store = undefined;
    this.waiting.clear();
    for (const connection of [...this.gate.connections]) connection.close(reason);
  }

  add(connection: ClientConnection): void {
    if (!this.gate.admit(connection)) {
      this.logger.warn('Too many client connections, one is refused', { client: connection.address });
      connection.close('too many connections');
      return;
    }
    this.byModel.set(connection, connection);
    connection.cancelDeadline = this.clock.setTimer(connection.isTrusted ? HANDSHAKE_MS : LOGIN_MS, () => {
      connection.close(connection.isTrusted ? 'the client did not introduce itself' : 'the client did not log in');
    });
  }

  /** The log made progress: sends what waited for it. */
  onDurable(): void {
    const durable = this.store?.durableBatch ?? 0;
    for (const connection of this.waiting) {
      connection.release(durable);
      if (!connection.isWaiting) this.waiting.delete(connection);
    }
  }

  onCommand(connection: ClientConnection, command: string): void {
    const { store } = this;
    if (store === undefined) {
      connection.sendText(NOT_SERVING);
      return;
    }
    if (!connection.isTrusted && !tellsNoSecrets(command)) {
      connection.sendText(`${command} is not answered: this server serves only clients that have logged in\n`);
      return;
    }
    const { received, sent, startedAtMs, configuration } = this;
    const { connections } = this.gate;
    const nowMs = steadyNow(this.clock);
    const status = { model: store.model, connections, received, sent, startedAtMs, nowMs, configuration };
    connection.sendText(answerCommand(command, status) ?? `${command} is not a command of this server\n`);
  }

  onConnect(connection: ClientConnection, request: ConnectRequest): void {
    const { store } = this;
    if (store === undefined) {
      connection.close('the server cannot write its data now');
      return;
    }
    const now = momentOf(this.clock);
    this.received++;
    if (request.lastZxidSeen > store.model.lastZxid) {
      // Its session saw data that this server does not have: a lost or exchanged data directory.
      this.logger.warn('Client has seen a later state than this server has; it is refused', {
        client: connection.address,
        clientZxid: request.lastZxidSeen,
        serverZxid: store.model.lastZxid,
      });
      connection.close('the client is ahead of this server');
      return;
    }
    if (request.sessionId === 0n) {
      const { timeoutMs } = request;
      connection.offered = store.model.offerSession({ timeoutMs, password: randomBytes(PASSWORD_BYTES) }, now);
      const { offered } = connection;
      if (connection.isTrusted && !this.openOffered(store, connection)) return;
      connection.sendConnectResponse(offered, request);
    } else {
      this.attach(store, connection, request, now);
    }
    this.waiting.add(connection);
  }

  /** Begins the session that the connection was offered, if any. @returns whether the connection goes on */
  private openOffered(store: Store, connection: ClientConnection): boolean {
    const { offered } = connection;
    if (offered === undefined) return true;
    connection.offered = undefined;
    if (!store.model.takesSessions) {
      connection.close('there are too many sessions');
      return false;
    }
    this.record(store.model.openSession(connection, offered, momentOf(this.clock)));
    return true;
  }

  onAuth(connection: ClientConnection, scheme: string, credentials: Buffer): void {
    const { store } = this;
    if (store === undefined) return;
    this.received++;
    if (this.login?.isProvedBy(scheme, credentials) === true) {
      connection.trust();
      if (!this.openOffered(store, connection)) return;
      this.sendReply(connection, Xid.auth, { reply: { zxid: 0, error: ErrorCode.ok }, events: [] });
      return;
    }
    const isKnown = store.model.addAuth(connection, scheme, credentials);
    const error = isKnown ? ErrorCode.ok : ErrorCode.authFailed;
    this.sendReply(connection, Xid.auth, { reply: { zxid: 0, error }, events: [] });
    if (!isKnown) connection.endWhenSent();
  }

  /** Clients that want SASL hear a plain no; whether they continue without it is up to them. */
  onSasl(connection: ClientConnection, xid: number): void {
    this.received++;
    this.sendReply(connection, xid, { reply: { zxid: 0, error: ErrorCode.authFailed }, events: [] });
  }

  onRequest(connection: ClientConnection, xid: number, request: Request): void {
    const { store } = this;
    if (store === undefined) return;
    this.received++;
    const isAllowed = connection.isTrusted || NEEDS_NO_LOGIN.has(request.op);
    if (connection.offered === undefined) {
      const outcome = store.model.apply(connection, isAllowed ? request : NOT_LOGGED_IN, momentOf(this.clock));
      this.record(outcome);
      this.sendReply(connection, xid, outcome);
    } else {
      const error = isAllowed ? ErrorCode.ok : ErrorCode.noAuth;
      this.sendReply(connection, xid, { reply: { zxid: store.model.lastZxid, error }, events: [] });
    }
    if (request.op === 'closeSession') {
      connection.endWhenSent();
      store.model.detach(connection);
    }
  }

  onUnknown(connection: ClientConnection, xid: number): void {
    this.sendReply(connection, xid, { reply: { zxid: 0, error: ErrorCode.unimplemented }, events: [] });
    connection.endWhenSent();
  }

  onChunkEnd(connection: ClientConnection): void {
    const { store } = this;
    if (store === undefined) return;
    this.waiting.add(connection);
    if (store.durableBatch >= store.lastBatch) this.onDurable();
    store.snapshotIfDue();
    this.timer.notLaterThan(store.model.earliestDeadlineMs);
  }

  onClosing(connection: ClientConnection): void {
    connection.cancelDeadline?.();
    connection.cancelDeadline = this.clock.setTimer(CLOSING_MS, () => connection.close('the client did not hang up'));
  }

  onError(connection: ClientConnection, error: unknown): void {
    this.logger.error('A client could not be served and is cut off', { client: connection.address, error });
  }

  onQueued(bytes: number): void {
    this.gate.onQueued(bytes);
  }

  onClose(connection: ClientConnection, reason: string): void {
    this.gate.remove(connection);
    this.byModel.delete(connection);
    this.waiting.delete(connection);
    this.store?.model.detach(connection);
    this.logger.debug('Client connection closed', { client: connection.address, reason });
  }

  private attach(store: Store, connection: ClientConnection, request: ConnectRequest, now: Moment): void {
    const attached = store.model.attach(connection, request, now);
    if (attached === undefined) {
      connection.sendConnectResponse(NO_SESSION, request);
      connection.endWhenSent();
      return;
    }
    const { session, replaced } = attached;
    if (replaced !== undefined) this.byModel.get(replaced)?.close('the client came back on another connection');
    connection.sendConnectResponse(session, request);
  }

  /** Logs what an outcome changed and queues its events. */
  private record({ transaction, events }: Outcome): void {
    if (transaction !== undefined) this.store?.append(transaction);
    for (const event of events) this.sendEvent(event);
  }

  private sendEvent(event: Notification): void {
    const connection = this.byModel.get(event.to);
    if (connection === undefined) return;
    this.sent++;
    this.waiting.add(connection);
    connection.sendEvent(event);
  }

  private sendReply(connection: ClientConnection, xid: number, { reply }: Outcome): void {
    this.sent++;
    connection.sendReply(xid, reply);
  }

  private onDeadline(pauseMs: number): void {
    const { store } = this;
    if (store === undefined) return;
    const now = momentOf(this.clock);
    if (pauseMs > 0) {
      this.logger.warn('This process was paused; sessions get that much more time', { pauseMs: Math.round(pauseMs) });
      store.model.sessions.prolong(pauseMs, now.steadyMs);
    }
    const { outcomes, expired } = store.model.passTime(now);
    for (const outcome of outcomes) this.record(outcome);
    for (const connection of expired) this.byModel.get(connection)?.close('the session expired');
    if (store.durableBatch >= store.lastBatch) this.onDurable();
    store.snapshotIfDue();
    this.arm();
  }

  private arm(): void {
    const next = this.store?.model.nextDeadlineMs();
    if (next !== undefined) this.timer.notLaterThan(next);
  }
}
