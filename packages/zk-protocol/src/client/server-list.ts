import { formatServer } from '../base/server-address.js';

/** A server to connect to; `address` is the resolved IP address of `host`, `undefined` before the lookup. */
export interface Target {
  host: string;
  port: number;
  address: string | undefined;
}

/**
 * The order of connection attempts: rounds over all servers in random order, with each address of a host name, and the
 * server that was lost last.
 */
export class ServerList {
  #servers: readonly { host: string; port: number }[];
  #round: Target[] = [];
  readonly #random: () => number;

  constructor(servers: readonly { host: string; port: number }[], random: () => number) {
    this.#servers = servers;
    this.#random = random;
    this.startRound();
  }

  get size(): number {
    return this.#servers.length;
  }

  replace(servers: readonly { host: string; port: number }[]): void {
    this.#servers = servers;
    this.startRound();
  }

  includes(target: Target): boolean {
    return this.#servers.some((server) => server.host === target.host && server.port === target.port);
  }

  /** Starts a new round over all servers. */
  startRound(lastLost?: Target): void {
    this.#round = this.#shuffle(this.#servers.map(({ host, port }) => ({ host, port, address: undefined })));
    if (lastLost === undefined || this.#round.length < 2) return;
    const isLost = (target: Target) => formatServer(target) === formatServer(lastLost);
    this.#round = [...this.#round.filter((target) => !isLost(target)), ...this.#round.filter(isLost)];
  }

  /** The next target of this round; `undefined` at its end. */
  take(): Target | undefined {
    return this.#round.shift();
  }

  /** Inserts the addresses of a host name at the front of the round. */
  expand(target: Target, addresses: readonly string[]): void {
    const targets = this.#shuffle([...new Set(addresses)].map((address) => ({ ...target, address })));
    this.#round.unshift(...targets);
  }

  #shuffle<T>(items: T[]): T[] {
    for (let i = items.length - 1; i > 0; i -= 1) {
      const j = Math.min(i, Math.floor(this.#random() * (i + 1)));
      const swapped = items[i] as T;
      items[i] = items[j] as T;
      items[j] = swapped;
    }
    return items;
  }
}
