import { Duplex } from 'node:stream';
import type { Clock } from '../../base/clock.js';
import type { LinkConditions } from './conditions.js';
import { Lane } from './lane.js';

/** One end of a {@link StreamPair}. */
class End extends Duplex {
  /** @param send - takes what is written; `undefined`: this end will write no more */
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

/** A connection in memory: what is written at one end is read at the other, after a while. */
export class StreamPair {
  readonly client: Duplex;
  readonly server: Duplex;
  readonly #up: Lane;
  readonly #down: Lane;
  readonly #clientClock: Clock;
  readonly #conditions: LinkConditions;
  /** Everything the server sends at one moment travels together. */
  #batch = { atMs: -1, delayMs: 0 };

  /** @param clientClock - a client whose time stands still receives nothing */
  constructor(clientClock: Clock, serverClock: Clock, conditions: LinkConditions) {
    this.#clientClock = clientClock;
    this.#conditions = conditions;
    this.client = new End((bytes) => {
      this.#up.send(bytes, bytes === undefined ? 0 : conditions.requestDelayMs());
    });
    this.server = new End((bytes) => {
      this.#down.send(bytes, bytes === undefined ? 0 : this.#replyDelayMs(serverClock.now()));
    });
    this.#up = laneTo(this.server, serverClock);
    this.#down = laneTo(this.client, clientClock);
  }

  /** Nothing gets through in either direction until then; both sides only notice by the silence. */
  holdUntil(atMs: number): void {
    this.#up.holdUntil(atMs);
    this.#down.holdUntil(atMs);
  }

  /** Breaks: of what is on its way to the server some may still arrive, nothing comes back. */
  break(): void {
    this.sever();
    this.#clientClock.setTimer(0, () => this.client.destroy(new Error('the connection was reset')));
  }

  /** The same, and the client never hears of it. */
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
