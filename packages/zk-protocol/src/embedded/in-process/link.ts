import type { CancelTimer, Clock } from '../../base/clock.js';
import { createModelConnection, type ModelConnection } from '../model/connection.js';
import type { Notification, Reply } from '../model/replies.js';
import type { Request } from '../model/requests.js';
import type { Session } from '../model/sessions.js';
import type { LinkConditions } from './conditions.js';
import type { InProcessServer, Receiver } from './in-process-server.js';

/** What arrives at the client. */
export interface LinkClient {
  event(event: Notification): void;
  reply(reply: Reply): void;
  /** The server ended the connection, or it broke. */
  broken(): void;
}

/** Messages that arrive in the order in which they were sent. */
class Lane<T> {
  readonly #clock: Clock;
  readonly #arrive: (message: T) => void;
  #messages: { atMs: number; message: T }[] = [];
  #lastMs = 0;
  #heldUntilMs = 0;
  #cancel: CancelTimer | undefined;

  constructor(clock: Clock, arrive: (message: T) => void) {
    this.#clock = clock;
    this.#arrive = arrive;
  }

  get size(): number {
    return this.#messages.length;
  }

  send(message: T, delayMs: number): void {
    this.#lastMs = Math.max(this.#lastMs, this.#clock.now() + delayMs);
    this.#messages.push({ atMs: this.#lastMs, message });
    this.#arm();
  }

  /** Nothing arrives before that time. */
  holdUntil(atMs: number): void {
    this.#heldUntilMs = Math.max(this.#heldUntilMs, atMs);
  }

  /** Drops all but the first `count` messages. */
  keep(count: number): void {
    this.#messages.length = Math.min(count, this.#messages.length);
    if (this.#messages.length > 0) return;
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #arm(): void {
    const [first] = this.#messages;
    if (this.#cancel !== undefined || first === undefined) return;
    const atMs = Math.max(first.atMs, this.#heldUntilMs);
    this.#cancel = this.#clock.setTimer(Math.max(0, atMs - this.#clock.now()), () => this.#deliver(atMs));
  }

  #deliver(atMs: number): void {
    this.#cancel = undefined;
    const nowMs = Math.max(atMs, this.#clock.now());
    for (let first = this.#messages[0]; first !== undefined; first = this.#messages[0]) {
      if (Math.max(first.atMs, this.#heldUntilMs) > nowMs) break;
      this.#messages.shift();
      this.#arrive(first.message);
    }
    this.#arm();
  }
}

/** One connection: two ordered lanes with delays, which can be held up and can break. */
export class Link implements Receiver {
  readonly #server: InProcessServer;
  readonly #connection: ModelConnection = createModelConnection('127.0.0.1');
  readonly #conditions: LinkConditions;
  readonly #client: LinkClient;
  readonly #up: Lane<Request>;
  readonly #down: Lane<() => void>;
  #isBroken = false;
  /** Everything the server sends at one moment travels together. */
  #batch = { atMs: -1, delayMs: 0 };
  readonly #serverClock: Clock;

  /**
   * @param worldClock - time at the server
   * @param clientClock - time at the client: a client that stalls receives nothing
   */
  constructor(
    server: InProcessServer,
    worldClock: Clock,
    clientClock: Clock,
    conditions: LinkConditions,
    client: LinkClient,
  ) {
    this.#server = server;
    this.#serverClock = worldClock;
    this.#conditions = conditions;
    this.#client = client;
    this.#up = new Lane(worldClock, (request) => this.#serve(request));
    this.#down = new Lane(clientClock, (deliver) => deliver());
  }

  open(timeoutMs: number): Session {
    return this.#server.createSession(this.#connection, timeoutMs, this);
  }

  attach(credentials: { sessionId: bigint; password: Buffer }): Session | undefined {
    return this.#server.attach(this.#connection, credentials, this);
  }

  /** Sends requests in one go. */
  send(requests: readonly Request[]): void {
    if (this.#isBroken) return;
    const delayMs = this.#conditions.requestDelayMs();
    for (const request of requests) this.#up.send(request, delayMs);
  }

  /** Nothing gets through in either direction until then. */
  holdUntil(atMs: number): void {
    this.#up.holdUntil(atMs);
    this.#down.holdUntil(atMs);
  }

  /** Breaks the connection: of what is on its way to the server some may still arrive, nothing comes back. */
  break(): void {
    if (this.#isBroken) return;
    this.#isBroken = true;
    this.#down.keep(0);
    this.#up.keep(this.#conditions.survivors(this.#up.size));
    if (this.#up.size === 0) this.#server.detach(this.#connection);
    this.#client.broken();
  }

  event(event: Notification): void {
    this.#sendDown(() => this.#client.event(event));
  }

  closed(): void {
    this.#sendDown(() => this.break());
  }

  #serve(request: Request): void {
    const reply = this.#server.apply(this.#connection, request);
    this.#sendDown(() => this.#client.reply(reply));
    if (this.#isBroken && this.#up.size === 0) this.#server.detach(this.#connection);
  }

  #sendDown(deliver: () => void): void {
    if (this.#isBroken) return;
    const atMs = this.#serverClock.now();
    if (this.#batch.atMs !== atMs) this.#batch = { atMs, delayMs: this.#conditions.replyDelayMs() };
    this.#down.send(deliver, this.#batch.delayMs);
  }
}
