import { steadyNow, systemClock, type Clock } from '../../base/clock.js';
import { Backoff } from '../../client/backoff.js';
import { ZooKeeperError } from '../../client/contract/errors.js';
import type { WatchEvent } from '../../client/contract/types.js';
import { StateListeners } from '../../client/state-listeners.js';
import { WatchRegistry } from '../../client/watches.js';
import { EventType, type EventTypeNumber } from '../model/constants.js';
import type { Notification, Reply } from '../model/replies.js';
import type { SetWatchesRequest } from '../model/requests.js';
import { perfectConditions, type LinkConditions } from './conditions.js';
import type { InProcessServer } from './in-process-server.js';
import { Link } from './link.js';
import { NamedTimers } from './named-timers.js';
import { Pulse } from './pulse.js';
import { failAll, RequestLine, type PendingRequest } from './request-line.js';
import * as translate from './translate.js';

/** How an in-process session behaves. */
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

const DEFAULT_SESSION_TIMEOUT_MS = 10_000;
const CLOSE_DEADLINE_MS = 1_000;
const UNREACHED = 'no ZooKeeper server could be reached in time; it has not been sent';
const UNANSWERED = 'the connection broke before the answer; it may or may not have taken effect';
const CLOSED = 'the ZooKeeper client is closed';
const EVENT_TYPES: Record<EventTypeNumber, WatchEvent['type']> = {
  [EventType.created]: 'created',
  [EventType.deleted]: 'deleted',
  [EventType.changed]: 'changed',
  [EventType.children]: 'children',
};

/** A session with an {@link InProcessServer}: keeps it connected and carries requests, replies and events. */
export class InProcessSession {
  readonly watches = new WatchRegistry();
  readonly states: StateListeners;
  readonly conditions: LinkConditions;
  readonly #line = new RequestLine();
  readonly #server: InProcessServer;
  readonly #clock: Clock;
  readonly #serverClock: Clock;
  readonly #backoff: Backoff;
  readonly #timeoutMs: number;
  readonly #onListenerError: (error: unknown) => void;
  readonly #timers: NamedTimers<'attempt' | 'expiry' | 'wait' | 'close'>;
  readonly #pulse: Pulse;
  #link: Link | undefined;
  #credentials: { sessionId: bigint; password: Buffer } = { sessionId: 0n, password: Buffer.alloc(16) };
  #epoch = 0;
  #lastZxid = 0;
  #isFlushScheduled = false;
  #isDead = false;
  #closing: { done: Promise<void>; finish: () => void } | undefined;

  constructor(server: InProcessServer, options: InProcessOptions) {
    this.#server = server;
    this.#clock = options.clock ?? systemClock;
    this.#serverClock = options.serverClock ?? this.#clock;
    this.conditions = options.conditions ?? perfectConditions;
    this.#timeoutMs = options.sessionTimeoutMs ?? DEFAULT_SESSION_TIMEOUT_MS;
    this.#backoff = new Backoff(this.#timeoutMs, options.random ?? Math.random);
    this.#timers = new NamedTimers(this.#clock);
    this.#pulse = new Pulse(this.#clock, this.#timeoutMs, {
      sendPing: () => {
        this.#line.pushInFlight({ ping: steadyNow(this.#clock) });
        this.#link?.send([{ op: 'ping' }]);
      },
      silent: () => this.#link?.break(),
    });
    this.#onListenerError = options.onListenerError ?? throwOn;
    this.states = new StateListeners(this.#onListenerError);
    this.#attempt();
  }

  get counters(): RequestLine['counters'] {
    return this.#line.counters;
  }

  get id(): bigint {
    return this.#credentials.sessionId;
  }

  /** Counts sessions. */
  get epoch(): number {
    return this.#epoch;
  }

  breakConnection(): void {
    this.#link?.break();
  }

  hold(ms: number): void {
    this.#link?.holdUntil(this.#serverClock.now() + ms);
  }

  kill(): void {
    this.#isDead = true;
    this.#timers.cancelAll();
    this.#pulse.stop();
    this.#line.clear();
    this.#link?.break();
    this.#link = undefined;
  }

  /** Ends the session; resolves within a second. Safe to repeat. */
  close(): Promise<void> {
    if (this.#closing !== undefined) return this.#closing.done;
    let finish = () => {};
    const done = new Promise<void>((resolve) => (finish = resolve));
    this.#closing = { done, finish };
    this.#timers.set('close', CLOSE_DEADLINE_MS, () => this.#finishClose());
    if (this.#link !== undefined) {
      this.#line.push(closeRequest(() => this.#finishClose()));
      this.#flush();
    } else if (this.#credentials.sessionId === 0n) {
      this.#finishClose();
    } else {
      this.#line.failWaiting('ZK_CLOSED', CLOSED);
    }
    this.states.set('CLOSED');
    return done;
  }

  // --- requests ---------------------------------------------------------------------------------------------------

  /** Takes a request: it is sent with all others of this tick, or as soon as there is a connection. */
  submit(item: PendingRequest): void {
    if (this.#isDead) return;
    if (this.#closing !== undefined) {
      item.reject(new ZooKeeperError('ZK_CLOSED', `${item.what} ${item.path}: ${CLOSED}`));
      return;
    }
    this.#line.push(item);
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
    if (this.#link === undefined) return;
    const batch = this.#line.takeBatch();
    if (batch.length > 0) this.#link.send(batch.map(({ request }) => request));
  }

  #onReply(reply: Reply): void {
    this.#pulse.heard();
    const item = this.#line.shift();
    if (item === undefined || item === 'set-watches') return;
    if (reply.zxid > 0) this.#lastZxid = reply.zxid;
    if ('ping' in item) {
      this.#pulse.confirmed(item.ping);
      return;
    }
    noteWatch(this.watches, item, reply.error);
    try {
      if (reply.error !== 0) throw translate.replyError(reply.error, item.what, item.path);
      item.resolve(item.read(reply));
    } catch (error) {
      item.reject(error as Error);
    }
  }

  #onEvent({ type, path }: Notification): void {
    this.#pulse.heard();
    this.counters.events += 1;
    this.watches.dispatch({ type: EVENT_TYPES[type], path }, (listener, event) => {
      try {
        listener(event);
      } catch (error) {
        this.#onListenerError(error);
      }
    });
  }

  /** Without a session nothing expires: requests wait one session timeout for the first connection. */
  #limitWait(): void {
    if (this.#timers.has('expiry') || this.#timers.has('wait')) return;
    this.#timers.set('wait', this.#timeoutMs, () => {
      this.#line.failWaiting('ZK_CONNECTION_LOSS', UNREACHED);
    });
  }

  // --- connection -------------------------------------------------------------------------------------------------

  #attempt(): void {
    this.#timers.set('attempt', this.conditions.connectDelayMs(), () => {
      if (this.conditions.canConnect()) this.#connect();
      else this.#timers.set('attempt', this.#backoff.next(), () => this.#attempt());
    });
  }

  #connect(): void {
    const link: Link = new Link(this.#server, this.#serverClock, this.#clock, this.conditions, {
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
    this.#timers.cancel('expiry');
    this.#timers.cancel('wait');
    this.#pulse.start();
    for (const request of watchRequests(this.watches, this.#lastZxid)) {
      this.#line.pushInFlight('set-watches');
      link.send([request]);
    }
    if (this.#closing !== undefined) this.#line.push(closeRequest(() => this.#finishClose()));
    this.#scheduleFlush();
    this.states.set('CONNECTED');
  }

  #onBroken(): void {
    this.#link = undefined;
    this.#pulse.stop();
    const unanswered = this.#line.takeUnanswered();
    if (this.#isDead) return;
    if (this.#closing !== undefined) {
      this.#finishClose();
      return;
    }
    // The state first: who hears of a failed request finds it changed already.
    this.states.set('SUSPENDED');
    failAll(unanswered, 'ZK_CONNECTION_LOSS', UNANSWERED);
    const { remainingMs } = this.#pulse;
    if (remainingMs <= 0) {
      this.#expire();
      return;
    }
    this.#timers.set('expiry', remainingMs, () => this.#expire());
    this.#attempt();
  }

  /** The session is over: everybody is told, and a new one is asked for. */
  #expire(): void {
    this.#timers.cancel('attempt');
    this.#timers.cancel('expiry');
    this.#credentials = { sessionId: 0n, password: Buffer.alloc(16) };
    this.#lastZxid = 0;
    this.watches.dropOneShots();
    if (this.#closing !== undefined) {
      this.#finishClose();
      return;
    }
    this.states.set('LOST');
    this.#line.failWaiting('ZK_SESSION_EXPIRED', 'the session ended before it could be sent; it has not taken effect');
    this.#attempt();
  }

  #finishClose(): void {
    this.#timers.cancelAll();
    this.#pulse.stop();
    const link = this.#link;
    this.#link = undefined;
    link?.break();
    failAll(this.#line.takeUnanswered(), 'ZK_CLOSED', CLOSED);
    this.#line.failWaiting('ZK_CLOSED', CLOSED);
    this.#closing?.finish();
  }
}

function noteWatch(watches: WatchRegistry, { watch, path }: PendingRequest, error: number): void {
  if (watch === undefined) return;
  const { kind, listener } = watch;
  if (error === 0) watches.addOneShot(kind === 'children' ? 'children' : 'data', path, listener);
  else if (kind === 'exists' && error === -101) watches.addOneShot('exists', path, listener);
}

/** Requests that set again what was watched before the connection broke. */
function* watchRequests(watches: WatchRegistry, relativeZxid: number): Generator<SetWatchesRequest> {
  for (const { data, exists: exist, children: child, persistent, recursive } of watches.packets((path) => path)) {
    yield { op: 'setWatches', relativeZxid, data, exist, child, persistent, persistentRecursive: recursive };
  }
}

function closeRequest(end: () => void): PendingRequest {
  const close = { what: 'close', path: '/', request: { op: 'closeSession' }, weight: 1, watch: undefined } as const;
  return { ...close, read: () => undefined, resolve: end, reject: end };
}

function throwOn(error: unknown): never {
  throw error;
}
