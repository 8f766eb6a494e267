import { type CancelTimer, type Clock, steadyNow } from '../../base/clock.js';
import type { ModelConnection } from '../model/connection.js';
import { type Moment, momentOf } from '../model/moment.js';
import type { Notification, Outcome, Reply } from '../model/replies.js';
import type { Request } from '../model/requests.js';
import { ServerModel, type ModelOptions } from '../model/server-model.js';
import type { Session } from '../model/sessions.js';
import type { Transaction } from '../model/transactions.js';

/** Where the server sends what one connection is to get. */
export interface Receiver {
  event(event: Notification): void;
  /** The server ends the connection. */
  closed(): void;
}

/** Hears of every change, before anybody else does. `sessionId` is whose request, or whose end, caused it. */
export type TransactionListener = (transaction: Transaction, sessionId: bigint) => void;

/** A ZooKeeper server in this process, on the given clock, without network and disk. */
export class InProcessServer {
  readonly #model: ServerModel;
  readonly #clock: Clock;
  readonly #onTransaction: TransactionListener;
  readonly #receivers = new Map<ModelConnection, Receiver>();
  #passwords = 0;
  #deadline: { atMs: number; cancel: CancelTimer } | undefined;

  constructor(clock: Clock, onTransaction: TransactionListener = () => {}, options: ModelOptions = {}) {
    this.#model = new ServerModel(options);
    this.#clock = clock;
    this.#onTransaction = onTransaction;
  }

  /** Opens a session. */
  createSession(connection: ModelConnection, timeoutMs: number, receiver: Receiver): Session {
    const password = Buffer.alloc(16);
    password.writeUInt32BE(++this.#passwords, 0);
    const opened = this.#model.createSession(connection, { timeoutMs, password }, this.#now());
    this.#receivers.set(connection, receiver);
    this.#record(opened.outcome, opened.session.id);
    this.#arm();
    return opened.session;
  }

  /** @returns `undefined` when the session is over */
  attach(
    connection: ModelConnection,
    credentials: { sessionId: bigint; password: Buffer },
    receiver: Receiver,
  ): Session | undefined {
    const attached = this.#model.attach(connection, credentials, this.#now());
    if (attached === undefined) return undefined;
    this.#receivers.set(connection, receiver);
    if (attached.replaced !== undefined) this.#close(attached.replaced);
    this.#arm();
    return attached.session;
  }

  /** Carries out a request. Events it causes are handed to their receivers before this returns. */
  apply(connection: ModelConnection, request: Request): Reply {
    const outcome = this.#model.apply(connection, request, this.#now());
    this.#record(outcome, connection.sessionId);
    this.#arm();
    return outcome.reply;
  }

  /** The connection is gone; its session waits for its client. */
  detach(connection: ModelConnection): void {
    this.#receivers.delete(connection);
    this.#model.detach(connection);
  }

  #close(connection: ModelConnection): void {
    const receiver = this.#receivers.get(connection);
    this.detach(connection);
    receiver?.closed();
  }

  #record({ transaction, events }: Outcome, sessionId: bigint): void {
    if (transaction !== undefined) this.#onTransaction(transaction, sessionId);
    for (const event of events) this.#receivers.get(event.to)?.event(event);
  }

  #passTime(): void {
    this.#deadline = undefined;
    const { outcomes, expired } = this.#model.passTime(this.#now());
    for (const outcome of outcomes) this.#record(outcome, endedSession(outcome));
    for (const connection of expired) this.#close(connection);
    this.#arm();
  }

  #arm(): void {
    if (this.#deadline !== undefined && this.#deadline.atMs <= this.#model.earliestDeadlineMs) return;
    const atMs = this.#model.nextDeadlineMs();
    if (atMs === undefined || (this.#deadline !== undefined && this.#deadline.atMs <= atMs)) return;
    this.#deadline?.cancel();
    const cancel = this.#clock.setTimer(Math.max(0, atMs - steadyNow(this.#clock)), () => this.#passTime());
    this.#deadline = { atMs, cancel };
  }

  #now(): Moment {
    return momentOf(this.#clock);
  }
}

function endedSession({ transaction }: Outcome): bigint {
  for (const change of transaction?.changes ?? []) if (change.change === 'closeSession') return change.sessionId;
  return 0n;
}
