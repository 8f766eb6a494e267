import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { SOON_MS } from './soon.js';

/** Token of the launchers' secure file. */
export const LEASE_TOKEN = 'a-token-of-the-end-to-end-tests';

/** A lease as the API answers it. */
export interface LeaseAnswer {
  readonly id: string;
  readonly state: 'waiting' | 'active' | 'ended' | 'failed';
  readonly state_time: number;
  readonly expires: number | null;
  readonly nodes: readonly {
    readonly id: string;
    readonly external_id: string | null;
    readonly certificate?: string | null;
  }[];
  readonly end_reason: string | null;
}

/** Leases over HTTP from whichever launcher answers; repeats what was not answered, with the same key. */
export class Lessee {
  readonly #ports: () => readonly number[];
  #turn = 0;

  /** @param ports - web ports of the launchers that run at the moment */
  constructor(ports: () => readonly number[]) {
    this.#ports = ports;
  }

  /**
   * Requests nodes and waits until the lease is active, or over.
   * @param key - default: a new one
   * @param more - further members of the request
   */
  async lease(labels: readonly string[], key: string = randomUUID(), more: object = {}): Promise<LeaseAnswer> {
    let lease = await this.#call('POST', '/leases', { labels, ttl: 600, ...more }, key);
    while (lease.state === 'waiting') lease = await this.#call('GET', `/leases/${lease.id}?wait=1`);
    return lease;
  }

  async all(): Promise<LeaseAnswer[]> {
    return Object.values(await this.#call('GET', '/leases?state=all&limit=500')) as LeaseAnswer[];
  }

  get(id: string): Promise<LeaseAnswer> {
    return this.#call('GET', `/leases/${id}`);
  }

  /** Ends the lease, and waits until it is over. */
  async end(id: string): Promise<LeaseAnswer> {
    return this.#call('DELETE', `/leases/${id}`);
  }

  /** Sends a call to one launcher, without waiting for its answer. */
  static send(port: number, method: string, path: string, body?: object, key?: string): Promise<Response> {
    return fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
      method,
      signal: AbortSignal.timeout(10_000),
      headers: {
        authorization: `Bearer ${LEASE_TOKEN}`,
        connection: 'close',
        ...(key !== undefined && { 'idempotency-key': key }),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
  }

  async #call(method: string, path: string, body?: object, key?: string): Promise<LeaseAnswer> {
    const deadline = Date.now() + SOON_MS;
    for (;;) {
      const ports = this.#ports();
      const port = ports[this.#turn++ % ports.length] ?? 0;
      const response = await Lessee.send(port, method, path, body, key).catch((error: unknown) => String(error));
      if (typeof response !== 'string' && response.ok) return (await response.json()) as LeaseAnswer;
      const why = typeof response === 'string' ? response : `${response.status} ${await response.text()}`;
      const isRefused = typeof response !== 'string' && response.status < 500;
      if (isRefused || Date.now() > deadline) throw new Error(`${method} ${path}: ${why}`);
      await delay(50);
    }
  }
}
