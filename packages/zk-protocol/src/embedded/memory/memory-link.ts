import type { Duplex } from 'node:stream';
import type { Clock } from '../../base/clock.js';
import type { LinkConditions } from './conditions.js';
import type { MemoryServer } from './memory-server.js';
import { StreamPair } from './stream-pair.js';

/** The way of one client to a {@link MemoryServer}, over one connection after another. */
export class MemoryLink {
  readonly #server: MemoryServer;
  readonly #clientClock: Clock;
  readonly #serverClock: Clock;
  readonly #conditions: LinkConditions;
  #pair: StreamPair | undefined;
  #isSevered = false;

  /** @param clientClock - a client whose time stands still receives nothing */
  constructor(server: MemoryServer, clientClock: Clock, serverClock: Clock, conditions: LinkConditions) {
    this.#server = server;
    this.#clientClock = clientClock;
    this.#serverClock = serverClock;
    this.#conditions = conditions;
  }

  /** Opens a connection: for the client. */
  readonly open = (): Duplex => {
    const pair = new StreamPair(this.#clientClock, this.#serverClock, this.#conditions);
    this.#clientClock.setTimer(this.#conditions.connectDelayMs(), () => this.#establish(pair));
    return pair.client;
  };

  /** The connection breaks. The session lives on if the client comes back in time. */
  break(): void {
    this.#pair?.break();
  }

  /** Nothing gets through the connection for a while; both sides only notice by the silence. */
  hold(ms: number): void {
    this.#pair?.holdUntil(this.#serverClock.now() + ms);
  }

  /** The process with this client dies: it hears nothing any more, and its session is left to expire. */
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
