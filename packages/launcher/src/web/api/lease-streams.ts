import type { ServerResponse } from 'node:http';
import type { Config } from '@nodepool/core';
import type { ApiToken } from '@nodepool/core/config';
import type { Leases } from '@nodepool/core/launcher';
import type { CancelTimer, Clock, JsonObject, LeaseRecord } from '@nodepool/zk-protocol';
import { EVENT_STREAM_HEADERS } from '@nodepool/daemon';
import type { LeaseCaller } from './lease-access.js';
import type { TokenTrust } from './token-trust.js';

/** Pause between comments that keep streams open in proxies. */
const HEARTBEAT_MS = 15_000;
/** Readers that do not read are disconnected. A lease has few events. */
const MOST_BUFFERED_BYTES = 64 * 1024;
/** Greatest number of open streams, of those of one token, and of one lease: each change of it is written to all of them. */
export const MOST_LEASE_STREAMS = { all: 8_000, ofToken: 5_000, ofLease: 50 };

/** Where leases and tokens come from. */
export interface LeaseStreamSources {
  readonly leases: Pick<Leases, 'onChange' | 'knowledge'> & {
    readonly tokens: Pick<Leases['tokens'], 'get' | 'onChange'>;
  };
  readonly config: () => Pick<Config, 'apiTokens'>;
  readonly trust: Pick<TokenTrust, 'distrusts'>;
}

type Listener = (lease: LeaseRecord | undefined) => void;

/** Tells who waits for one lease about its changes: at most one look-up for each change, however many leases there are. */
export class LeaseStreams {
  readonly #clock: Clock;
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #leases: LeaseStreamSources['leases'];
  readonly #config: () => Pick<Config, 'apiTokens'>;
  readonly #trust: LeaseStreamSources['trust'];
  readonly #most: typeof MOST_LEASE_STREAMS;
  /** Open streams of each token: by its name, or by the {@link operatorKey} of an entry of `api-tokens`. */
  readonly #responses = new Map<string, Set<ServerResponse>>();
  #heartbeat: CancelTimer | undefined;
  #nextId = 1;

  constructor(clock: Clock, { leases, config, trust }: LeaseStreamSources, most = MOST_LEASE_STREAMS) {
    this.#clock = clock;
    this.#config = config;
    this.#trust = trust;
    this.#most = most;
    this.#leases = leases;
    leases.onChange(({ id, after }) => {
      for (const listener of this.#listeners.get(id) ?? []) listener(after);
    });
    // changed or revoked: its reader connects again, if it still may
    leases.tokens.onChange(({ id, before }) => before && this.#endAllOf(id));
  }

  /** Number of open streams. */
  get size(): number {
    let size = 0;
    for (const responses of this.#responses.values()) size += responses.size;
    return size;
  }

  /** Calls the listener when the lease changes. @returns unsubscribes */
  on(id: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(id) ?? new Set();
    this.#listeners.set(id, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(id);
    };
  }

  /** Resolves when the lease does not wait any more, or after this time. */
  async whenServed(lease: LeaseRecord, waitMs: number): Promise<void> {
    if (lease.state !== 'waiting' || waitMs <= 0) return;
    let end = () => {};
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.setTimer(waitMs, resolve);
      const leave = this.on(lease.id, (after) => after?.state !== 'waiting' && resolve());
      end = () => {
        cancel();
        leave();
      };
    });
    end();
  }

  /**
   * Sends the lease now and at each change, until it is over, or the token is changed, revoked or expired.
   * @param caller - who opens it
   * @returns false, without writing anything, if too many streams are open
   */
  open(
    lease: LeaseRecord,
    caller: Pick<LeaseCaller, 'name' | 'isOperator'>,
    response: ServerResponse,
    describe: (lease: LeaseRecord) => Promise<JsonObject>,
  ): boolean {
    const token = this.#keyOf(caller);
    const ofToken = this.#responses.get(token) ?? new Set();
    const ofLease = this.#listeners.get(lease.id)?.size ?? 0;
    if (this.size >= this.#most.all || ofToken.size >= this.#most.ofToken || ofLease >= this.#most.ofLease)
      return false;
    response.writeHead(200, EVENT_STREAM_HEADERS);
    const write = async (now: LeaseRecord | undefined) => {
      if (response.destroyed || response.writableEnded) return;
      const body = now && JSON.stringify(await describe(now));
      if (body) this.#write(response, `id: ${this.#nextId++}\nevent: lease\ndata: ${body}\n\n`);
      if (!now || now.state === 'ended' || now.state === 'failed') response.end();
    };
    let sent = Promise.resolve();
    const send = (now: LeaseRecord | undefined) => {
      sent = sent.then(() => write(now)).catch(() => void response.destroy()); // the reader connects again
    };
    const leave = this.on(lease.id, send);
    const close = () => {
      leave();
      ofToken.delete(response);
      if (ofToken.size === 0 && this.#responses.get(token) === ofToken) this.#responses.delete(token);
    };
    response.on('close', close).on('error', close);
    this.#responses.set(token, ofToken.add(response));
    if (!this.#heartbeat) this.#heartbeat = this.#clock.setTimer(HEARTBEAT_MS, () => this.#beat());
    send(lease);
    return true;
  }

  #write(response: ServerResponse, text: string): void {
    response.write(text);
    if (response.writableLength > MOST_BUFFERED_BYTES) response.destroy();
  }

  #beat(): void {
    this.#heartbeat = undefined;
    if (this.#responses.size === 0) return;
    for (const [token, responses] of this.#responses) {
      // a reader whose stream ends asks another launcher
      if (this.#leases.knowledge !== 'current' || !this.#isValid(token)) this.#endAllOf(token);
      else for (const response of responses) this.#write(response, ': here\n\n');
    }
    this.#heartbeat = this.#clock.setTimer(HEARTBEAT_MS, () => this.#beat());
  }

  #keyOf({ name, isOperator }: Pick<LeaseCaller, 'name' | 'isOperator'>): string {
    const entry = isOperator && this.#config().apiTokens.find((each) => each.name === name);
    return entry ? operatorKey(entry) : name;
  }

  /** Whether the token still gives rights, and is still in the configuration if it came from there. Revoked ones end at once. */
  #isValid(token: string): boolean {
    if (token.includes(' ')) return this.#config().apiTokens.some((entry) => operatorKey(entry) === token);
    const record = this.#leases.tokens.get(token);
    if (record === undefined) return true;
    const { endTimeMs } = record;
    return (endTimeMs === null || endTimeMs > this.#clock.now()) && this.#trust.distrusts(record) === undefined;
  }

  #endAllOf(token: string): void {
    for (const response of this.#responses.get(token) ?? []) response.end();
  }
}

/** Has a space, unlike the names of tokens for leases. */
const operatorKey = ({ name, token }: ApiToken): string => `${name} ${token}`;
