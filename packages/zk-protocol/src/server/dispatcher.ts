import { randomBytes } from 'node:crypto';
import { type Clock, steadyNow } from '../base/clock.js';
import { addIdentity } from './model/acl.js';
import { type Moment, momentOf } from './model/moment.js';
import type { Request } from './model/requests.js';
import { finish, type Sliced } from './model/sliced.js';
import type { ZooKeeperLogger } from '../base/logger.js';
import { ErrorCode, Xid } from './model/constants.js';
import type { ClientConnection, ConnectionHandler, ConnectRequest } from './client-connection.js';
import type { ConnectionGate } from './connection-limits.js';
import { SlicedWork } from './sliced-work.js';
import { Delivery } from './delivery.js';
import type { ServedStore } from './served-store.js';
import { DeadlineTimer } from './deadline-timer.js';
import { answerCommand, isPublic } from './four-letter-words.js';
import type { Login } from './login.js';

const PASSWORD_BYTES = 16;
/** Time for a client to disconnect after its last reply. */
const CLOSING_MS = 5_000;
/** Bytes waiting for the disk beyond which no requests are read. */
const MAX_PENDING_BYTES = 16 * 1024 * 1024;
/** Requests that run in slices, as they may take long. */
const LONG = new Set<Request['op']>(['multi', 'setWatches', 'closeSession']);
const NEEDS_NO_LOGIN = new Set<Request['op']>(['ping', 'closeSession']);
const NOT_LOGGED_IN: Request = { op: 'refused', error: ErrorCode.noAuth, isWrite: false };
const NOT_SERVING = 'This ZooKeeper instance is not currently serving requests\n';

/** Passes requests to the model, changes to the log, and replies to clients once the log is durable. */
export class Dispatcher implements ConnectionHandler {
  private readonly delivery = new Delivery();
  private readonly timer: DeadlineTimer;
  private received = 0;
  /** Required login; `undefined` serves all clients. */
  login: Login | undefined;
  private readonly startedAtMs: number;
  private readonly work: SlicedWork;
  private store: ServedStore | undefined;
  private suspendedFor = 'the server is starting';

  constructor(
    readonly clock: Clock,
    private readonly logger: ZooKeeperLogger,
    private readonly configuration: Record<string, string | number>,
    private readonly gate: ConnectionGate,
  ) {
    this.work = new SlicedWork(clock, () => this.onWorkDone());
    this.startedAtMs = steadyNow(clock);
    this.timer = new DeadlineTimer(clock, (pauseMs) => this.onDeadline(pauseMs));
  }

  get lastBatch(): number {
    return this.store?.lastBatch ?? 0;
  }

  get isBusy(): boolean {
    return this.work.isBusy || (this.store !== undefined && this.store.pendingBytes > MAX_PENDING_BYTES);
  }

  /** Starts serving a store. */
  serve(store: ServedStore): void {
    this.store = store;
    store.model.resume(momentOf(this.clock));
    this.arm();
  }

  /** Drops all connections and queued data, and rejects clients until {@link serve}. @param details - shown to local clients */
  suspend(reason: string, details = reason): void {
    this.suspendedFor = details;
    // The model must not keep half a transaction.
    this.work.finishNow();
    this.timer.stop();
    this.store = undefined;
    this.delivery.clear();
    for (const connection of [...this.gate.connections]) connection.close(reason);
  }

  add(connection: ClientConnection): void {
    if (this.gate.admit(connection)) this.delivery.add(connection);
  }

  /** Sends the data that waited for the log. */
  onDurable(): void {
    this.delivery.release(this.store?.durableBatch ?? 0);
  }

  onCommand(connection: ClientConnection, command: string): void {
    connection.sendText(this.answerTo(command, connection.isTrusted));
  }

  private answerTo(command: string, isTrusted: boolean): string {
    const { store, received, startedAtMs, configuration } = this;
    if (store === undefined) return isTrusted ? `${NOT_SERVING}${this.suspendedFor}\n` : NOT_SERVING;
    if (!isTrusted && !isPublic(command)) return `${command} is not answered: this server requires a login\n`;
    const status = {
      ...{ model: store.model, connections: this.gate.connections, received, startedAtMs, configuration },
      ...{ sent: this.delivery.sent, nowMs: steadyNow(this.clock) },
    };
    return answerCommand(command, status) ?? `${command} is not a command of this server\n`;
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
      // The client saw data that this server lacks: the data directory was lost or replaced.
      const zxids = { clientZxid: request.lastZxidSeen, serverZxid: store.model.lastZxid };
      this.logger.warn('Rejected client: it has seen a later state', { client: connection.address, ...zxids });
      if (request.sessionId === 0n) connection.close('the client is ahead of this server');
      else connection.refuseSession(request); // so that it begins another one, with nothing seen
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
    this.delivery.wait(connection);
  }

  /** Opens the offered session, if any. @returns false if the connection was closed */
  private openOffered(store: ServedStore, connection: ClientConnection): boolean {
    const { offered } = connection;
    if (offered === undefined) return true;
    connection.offered = undefined;
    if (!store.model.takesSessions) {
      connection.close('there are too many sessions');
      return false;
    }
    finish(this.delivery.record(store, store.model.openSession(connection, offered, momentOf(this.clock)), offered.id));
    return true;
  }

  onAuth(connection: ClientConnection, scheme: string, credentials: Buffer): void {
    const { store } = this;
    if (store === undefined) return;
    this.received++;
    if (this.login?.isProvedBy(scheme, credentials) === true) {
      connection.trust();
      if (!this.openOffered(store, connection)) return;
      this.delivery.reply(connection, Xid.auth, { zxid: 0, error: ErrorCode.ok });
      return;
    }
    const isKnown = addIdentity(connection, scheme, credentials);
    const error = isKnown ? ErrorCode.ok : ErrorCode.authFailed;
    this.delivery.reply(connection, Xid.auth, { zxid: 0, error });
    if (!isKnown) connection.endWhenSent();
  }

  /** Rejects SASL; clients may continue without it. */
  onSasl(connection: ClientConnection, xid: number): void {
    this.received++;
    this.delivery.reply(connection, xid, { zxid: 0, error: ErrorCode.authFailed });
  }

  onRequest(connection: ClientConnection, xid: number, request: Request): void {
    const { store } = this;
    if (store === undefined) return;
    this.received++;
    const isAllowed = connection.isTrusted || NEEDS_NO_LOGIN.has(request.op);
    if (connection.offered === undefined) {
      const work = this.execute(store, connection, xid, isAllowed ? request : NOT_LOGGED_IN);
      if (LONG.has(request.op)) this.work.begin(work);
      else finish(work);
    } else {
      const error = isAllowed ? ErrorCode.ok : ErrorCode.noAuth;
      this.delivery.reply(connection, xid, { zxid: store.model.lastZxid, error });
    }
    if (request.op === 'closeSession' && connection.offered !== undefined) connection.endWhenSent();
  }

  private *execute(store: ServedStore, connection: ClientConnection, xid: number, request: Request): Sliced<void> {
    try {
      const now = momentOf(this.clock);
      const outcome = LONG.has(request.op)
        ? yield* store.model.applySliced(connection, request, now)
        : store.model.apply(connection, request, now);
      yield* this.delivery.record(store, outcome, connection.sessionId);
      this.delivery.reply(connection, xid, outcome.reply);
      if (request.op !== 'closeSession') return;
      connection.endWhenSent();
      store.model.detach(connection);
    } catch (error) {
      connection.fail(error);
    }
  }

  /** Resumes everything that waited for long work. */
  private onWorkDone(): void {
    if (this.store === undefined) return;
    this.onDurable();
    this.store.snapshotIfDue();
    this.arm();
  }

  onUnknown(connection: ClientConnection, xid: number): void {
    this.delivery.reply(connection, xid, { zxid: 0, error: ErrorCode.unimplemented });
    connection.endWhenSent();
  }

  onChunkEnd(connection: ClientConnection): void {
    const { store } = this;
    if (store === undefined) return;
    this.delivery.wait(connection);
    if (this.work.isBusy) return;
    if (store.durableBatch >= store.lastBatch) this.onDurable();
    store.snapshotIfDue();
    this.timer.notLaterThan(store.model.earliestDeadlineMs);
  }

  onClosing(connection: ClientConnection): void {
    connection.cancelDeadline?.();
    connection.cancelDeadline = this.clock.setTimer(CLOSING_MS, () =>
      connection.close('the client did not disconnect'),
    );
  }

  onError(connection: ClientConnection, error: unknown): void {
    this.logger.error('Disconnected client: the server failed on its request', { client: connection.address, error });
  }

  onQueued(bytes: number): void {
    this.gate.onQueued(bytes);
  }

  onClose(connection: ClientConnection, reason: string): void {
    this.gate.remove(connection);
    this.delivery.remove(connection);
    this.work.whenIdle(() => this.store?.model.detach(connection));
    this.logger.debug('Client connection closed', { client: connection.address, reason });
  }

  private attach(store: ServedStore, connection: ClientConnection, request: ConnectRequest, now: Moment): void {
    const attached = store.model.attach(connection, request, now);
    if (attached === undefined) {
      connection.refuseSession(request);
      return;
    }
    const { session, replaced } = attached;
    if (replaced !== undefined) this.delivery.find(replaced)?.close('the client reconnected on another connection');
    connection.sendConnectResponse(session, request);
  }

  private onDeadline(pauseMs: number): void {
    this.work.whenIdle(() => {
      if (this.store !== undefined) this.work.begin(this.passTime(this.store, pauseMs));
    });
  }

  private *passTime(store: ServedStore, pauseMs: number): Sliced<void> {
    const now = momentOf(this.clock);
    if (pauseMs > 0) {
      this.logger.warn('This process was paused; extended all sessions', { pauseMs: Math.round(pauseMs) });
      store.model.sessions.prolong(pauseMs, now.steadyMs);
    }
    const { outcomes, expired } = yield* store.model.passTimeSliced(now);
    for (const outcome of outcomes) yield* this.delivery.record(store, outcome, 0n);
    for (const connection of expired) this.delivery.find(connection)?.close('the session expired');
    if (store.durableBatch >= store.lastBatch) this.onDurable();
    store.snapshotIfDue();
    this.arm();
  }

  private arm(): void {
    const next = this.store?.model.nextDeadlineMs();
    if (next !== undefined) this.timer.notLaterThan(next);
  }
}
