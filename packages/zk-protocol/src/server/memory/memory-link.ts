import { Duplex } from 'node:stream';
import { steadyNow, type Clock, systemClock } from '../../base/clock.js';
import type { ZooKeeperLogger } from '../../base/logger.js';
import { createZooKeeper } from '../../client/connect.js';
import type { ZooKeeperConnection } from '../../client/contract/types.js';
import { Lane } from './lane.js';
import type { MemoryServer } from './memory-server.js';

/** Behaviour of the connection between a client and the server. Called for each packet, so it may change at any time. */
export interface LinkConditions {
  /** Milliseconds until data sent in one write reaches the server. */
  requestDelayMs(): number;
  /** Milliseconds until data sent by the server at one moment reaches the client. */
  replyDelayMs(): number;
  /** Milliseconds that a connection attempt takes. */
  connectDelayMs(): number;
  /** False makes the connection attempt fail. */
  canConnect(): boolean;
  /** When the connection breaks with `count` bytes in flight to the server: the number of leading bytes that still arrive. */
  survivors(count: number): number;
}

/** No delays and no failures. */
export const perfectConditions: LinkConditions = {
  requestDelayMs: () => 0,
  replyDelayMs: () => 0,
  connectDelayMs: () => 0,
  canConnect: () => true,
  survivors: (count) => count,
};

/** Settings of {@link connectInMemory}. */
export interface MemoryOptions {
  /** Clock of the client. @default the system clock */
  clock?: Clock;
  /** Clock by which the client reads what arrives. @default its clock */
  socketClock?: Clock;
  /** Clock of the network and the server. @default the client's clock */
  serverClock?: Clock;
  /** @default 10000 */
  sessionTimeoutMs?: number;
  /** @default {@link perfectConditions} */
  conditions?: LinkConditions;
  /** Number in [0, 1). @default Math.random */
  random?: () => number;
  /** @default throws on logged errors and drops all other messages */
  logger?: ZooKeeperLogger;
}

/** The client logs what its listeners throw; a test must see that error. */
const throwingLogger: ZooKeeperLogger = {
  ...{ debug() {}, info() {}, warn() {} },
  error: (message, fields) => {
    throw fields?.['error'] instanceof Error ? fields['error'] : new Error(message);
  },
};

/** Connects the production client to a server in this process. */
export function connectInMemory(
  server: MemoryServer,
  options: MemoryOptions = {},
): { zk: ZooKeeperConnection; link: MemoryLink } {
  const { clock = systemClock, serverClock = clock, conditions = perfectConditions } = options;
  const { sessionTimeoutMs, random, logger = throwingLogger, socketClock = clock } = options;
  const link = new MemoryLink(server, socketClock, serverClock, conditions);
  const zk = createZooKeeper({ servers: 'memory', open: link.open, clock, sessionTimeoutMs, random, logger });
  return { zk, link };
}

/** The network path of one client to a {@link MemoryServer}. Each connection attempt opens a new stream. */
export class MemoryLink {
  readonly #server: MemoryServer;
  readonly #clientClock: Clock;
  readonly #serverClock: Clock;
  readonly #conditions: LinkConditions;
  #pair: StreamPair | undefined;
  #isSevered = false;

  /** @param clientClock - while it stands still, the client receives nothing */
  constructor(server: MemoryServer, clientClock: Clock, serverClock: Clock, conditions: LinkConditions) {
    this.#server = server;
    this.#clientClock = clientClock;
    this.#serverClock = serverClock;
    this.#conditions = conditions;
  }

  /** Opens a connection; the client's `open` option. */
  readonly open = (): Duplex => {
    const pair = new StreamPair(this.#clientClock, this.#serverClock, this.#conditions);
    this.#clientClock.setTimer(this.#conditions.connectDelayMs(), () => this.#establish(pair));
    return pair.client;
  };

  /** Breaks the connection. The session survives if the client reconnects in time. */
  break(): void {
    this.#pair?.break();
  }

  /** Delays all data in both directions. Neither side is notified. */
  hold(ms: number): void {
    this.#pair?.hold(ms);
  }

  /** Simulates the death of the client's process: it receives nothing more, and its session expires. */
  sever(): void {
    this.#isSevered = true;
    this.#pair?.sever();
  }

  #establish(pair: StreamPair): void {
    const { client, server } = pair;
    if (client.destroyed || this.#isSevered) return;
    if (!this.#conditions.canConnect()) {
      client.destroy(new Error('the connection was refused'));
      return;
    }
    this.#pair = pair;
    this.#server.accept(server);
    client.emit('connect');
  }
}

/** Two connected streams: data written at one end is read at the other after the delay of the {@link LinkConditions}. */
class StreamPair {
  readonly client: Duplex;
  readonly server: Duplex;
  readonly #up: Lane;
  readonly #down: Lane;
  readonly #clientClock: Clock;
  readonly #conditions: LinkConditions;
  /** All data that the server sends at one moment has one delay. */
  #batch = { atMs: -1, delayMs: 0 };

  /** @param clientClock - while it stands still, the client receives nothing */
  constructor(clientClock: Clock, serverClock: Clock, conditions: LinkConditions) {
    this.#clientClock = clientClock;
    this.#conditions = conditions;
    this.client = new End((bytes) => {
      this.#up.send(bytes, bytes === undefined ? 0 : conditions.requestDelayMs());
    });
    this.server = new End((bytes) => {
      this.#down.send(bytes, bytes === undefined ? 0 : this.#replyDelayMs(steadyNow(serverClock)));
    });
    this.#up = laneTo(this.server, serverClock);
    this.#down = laneTo(this.client, clientClock);
  }

  /** Delays all data in both directions. */
  hold(ms: number): void {
    this.#up.hold(ms);
    this.#down.hold(ms);
  }

  /** Breaks the connection: some data in flight to the server may still arrive, none reaches the client. */
  break(): void {
    this.sever();
    this.#clientClock.setTimer(0, () => this.client.destroy(new Error('the connection was reset')));
  }

  /** Breaks the connection without an error at the client. */
  sever(): void {
    this.#up.cut(this.#conditions.survivors(this.#up.bytes));
    this.#down.drop();
  }

  #replyDelayMs(nowMs: number): number {
    if (this.#batch.atMs !== nowMs) this.#batch = { atMs: nowMs, delayMs: this.#conditions.replyDelayMs() };
    return this.#batch.delayMs;
  }
}

function laneTo(end: Duplex, clock: Clock): Lane {
  return new Lane(clock, (bytes) => {
    if (!end.destroyed) end.push(bytes ?? null);
  });
}

/** One end of a {@link StreamPair}. */
class End extends Duplex {
  /** @param send - receives written data; `undefined` marks the end of the stream */
  constructor(private readonly send: (bytes: Buffer | undefined) => void) {
    super({ allowHalfOpen: false });
  }

  override _read(): void {}

  override _write(bytes: Buffer, _encoding: string, done: () => void): void {
    this.send(bytes);
    done();
  }

  override _final(done: () => void): void {
    this.send(undefined);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.send(undefined);
    done(error);
  }
}
