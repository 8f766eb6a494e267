import { ZooKeeperError, type ZooKeeperErrorCode } from '../../client/contract/errors.js';
import type { ConnectionCounters, WatchListener } from '../../client/contract/types.js';
import type { Reply } from '../model/replies.js';
import type { Request } from '../model/requests.js';

/** A request with what its caller is to get. */
export interface PendingRequest {
  readonly what: string;
  readonly path: string;
  readonly request: Request;
  readonly weight: number;
  readonly watch: { kind: 'exists' | 'data' | 'children'; listener: WatchListener } | undefined;
  /** Makes the result of the reply; may throw what the caller is to get. */
  readonly read: (reply: Reply) => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

const WRITES: ReadonlySet<Request['op']> = new Set<Request['op']>([
  ...(['create', 'create2', 'createContainer', 'createTtl', 'delete', 'setData', 'setAcl', 'multi'] as const),
]);

/** What waits for a reply; `ping` holds when it was sent. */
export type InFlight = PendingRequest | { ping: number } | 'set-watches';

/** Requests in the order in which they were made: those that wait to be sent, and those that wait for their replies. */
export class RequestLine {
  readonly counters: { -readonly [Name in keyof ConnectionCounters]: number } = {
    ...{ requests: 0, operations: 0, writes: 0, events: 0, pending: 0 },
  };
  readonly #waiting: PendingRequest[] = [];
  #inFlight: InFlight[] = [];

  push(item: PendingRequest): void {
    this.#waiting.push(item);
    this.#count();
  }

  /** Notes that something else than a request of a caller was sent. */
  pushInFlight(item: { ping: number } | 'set-watches'): void {
    this.#inFlight.push(item);
  }

  /** Everything that waits, which counts as sent from now on. */
  takeBatch(): PendingRequest[] {
    const batch = this.#waiting.splice(0);
    this.#inFlight.push(...batch);
    for (const { weight, request } of batch) {
      this.counters.requests += 1;
      this.counters.operations += weight;
      if (WRITES.has(request.op)) this.counters.writes += weight;
    }
    return batch;
  }

  /** What the next reply is for. */
  shift(): InFlight | undefined {
    const item = this.#inFlight.shift();
    this.#count();
    return item;
  }

  /** The connection is gone: returns the requests that get no reply any more. */
  takeUnanswered(): PendingRequest[] {
    const unanswered = this.#inFlight.filter((item) => typeof item === 'object' && 'reject' in item);
    this.#inFlight = [];
    return unanswered;
  }

  failWaiting(code: ZooKeeperErrorCode, why: string): void {
    const waiting = this.#waiting.splice(0);
    this.#count();
    failAll(waiting, code, why);
  }

  /** Forgets everything; no caller is told. */
  clear(): void {
    this.#waiting.length = 0;
    this.#inFlight = [];
  }

  #count(): void {
    this.counters.pending = this.#waiting.length + this.#inFlight.length;
  }
}

/** Rejects requests with the path in the error. */
export function failAll(requests: readonly PendingRequest[], code: ZooKeeperErrorCode, why: string): void {
  for (const { what, path, reject } of requests) reject(new ZooKeeperError(code, `${what} ${path}: ${why}`, { path }));
}
