import { RefusedError, UnreachableError } from './errors.js';
import { readEvents } from './events.js';
import { nowMs, pause } from './pause.js';
import type { Call, Transport } from './transport.js';
import { leaseFrom, type LeaseInfo } from './types.js';

/** Longest silence of the server, besides the time that it was asked to wait. */
const ANSWER_MS = 15_000;
/** Event streams carry a comment every 15 s. */
const SILENT_STREAM_MS = 40_000;
/** The least time that an attempt gets. */
const SHORTEST_MS = 1_000;
const FIRST_PAUSE_MS = 100;
const LEASES_A_PAGE = 500;
const LONGEST_PAUSE_MS = 3_000;

/** How long a call is repeated, and until when. */
export interface Patience {
  readonly signal?: AbortSignal | undefined;
  /** How long it is repeated; default: that of the client. */
  readonly retryMs?: number | undefined;
}

type Answer = Readonly<Record<string, unknown>>;

/** Whether only nodes of ended leases, which are being deleted, are in the way: who waits for nodes waits for that, too. */
export const hasRoomSoon = ({ code }: RefusedError): boolean => code === 'nodes-being-deleted';

/** Whether a repetition may succeed at once. */
function isTemporary(error: unknown): error is Error {
  if (error instanceof UnreachableError) return !error.isPermanent;
  if (!(error instanceof RefusedError) || hasRoomSoon(error)) return false;
  return error.status >= 500 || error.status === 429 || error.code === 'changed';
}

/** The operations on leases. Each may be sent twice, so each is repeated until the server answers it. */
export class LeaseCalls {
  readonly #transport: Transport;
  readonly #retryMs: number;
  /** Called with each failure after which a call is repeated. */
  readonly onRetry: (error: Error) => void;

  constructor(transport: Transport, retryMs: number, onRetry: (error: Error) => void) {
    this.#transport = transport;
    this.#retryMs = retryMs;
    this.onRetry = onRetry;
  }

  /** @param key - the same for each repetition: the server makes one lease of them */
  create(body: object, key: string): Promise<LeaseInfo> {
    return this.#lease({ method: 'POST', path: '/leases', body, idempotencyKey: key });
  }

  /** @param waitMs - answer when it does not wait any more, or after this time */
  get(id: string, { waitMs = 0, ...patience }: Patience & { readonly waitMs?: number } = {}): Promise<LeaseInfo> {
    const path = `${pathOf(id)}${waitMs > 0 ? `?wait=${waitMs / 1000}` : ''}`;
    return this.#lease({ method: 'GET', path, timeoutMs: waitMs + ANSWER_MS }, patience);
  }

  async list(query: Readonly<Record<string, string>>): Promise<LeaseInfo[]> {
    const leases: LeaseInfo[] = [];
    for (let page: Readonly<Record<string, string>> = {}; ;) {
      const path = `/leases?${new URLSearchParams({ ...query, limit: String(LEASES_A_PAGE), ...page }).toString()}`;
      const answers = (await this.#call({ method: 'GET', path: `/api/v1${path}` })) as Answer[];
      leases.push(...answers.map(leaseFrom));
      const last = answers.at(-1);
      if (!last || answers.length < LEASES_A_PAGE) return leases;
      page = { cursor: `${String(last['created_time'])}:${String(last['id'])}` };
    }
  }

  renew(id: string, ttlMs: number, patience: Patience = {}): Promise<LeaseInfo> {
    return this.#lease({ method: 'POST', path: `${pathOf(id)}/renew`, body: { ttl: ttlMs / 1000 } }, patience);
  }

  end(id: string, patience: Patience = {}): Promise<LeaseInfo> {
    return this.#lease({ method: 'DELETE', path: pathOf(id) }, patience);
  }

  async labels(): Promise<Answer[]> {
    return (await this.#call({ method: 'GET', path: '/api/v1/labels' })) as Answer[];
  }

  /** @param query - `request` or, repeated, `label` */
  async explain(query: readonly [string, string][]): Promise<Answer> {
    return (await this.#call({ method: 'GET', path: `/explain?${new URLSearchParams(query).toString()}` })) as Answer;
  }

  /** The lease now and at each change, until it is over or the connection breaks. Does not keep the process alive. */
  async *events(id: string, signal: AbortSignal): AsyncGenerator<LeaseInfo> {
    const path = `/api/v1${pathOf(id)}/events`;
    const response = await this.#transport.open({ method: 'GET', path, signal, timeoutMs: SILENT_STREAM_MS });
    response.socket.unref();
    for await (const data of readEvents(response)) yield leaseFrom(JSON.parse(data) as Answer);
  }

  async #lease(call: Omit<Call, 'timeoutMs'> & { timeoutMs?: number }, patience?: Patience): Promise<LeaseInfo> {
    return leaseFrom((await this.#call({ ...call, path: `/api/v1${call.path}` }, patience)) as Answer);
  }

  async #call(call: Omit<Call, 'timeoutMs'> & { timeoutMs?: number }, patience: Patience = {}): Promise<unknown> {
    const { signal, retryMs = this.#retryMs } = patience;
    const startMs = nowMs();
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      try {
        const timeoutMs = Math.min(call.timeoutMs ?? ANSWER_MS, Math.max(SHORTEST_MS, startMs + retryMs - nowMs()));
        return await this.#transport.json({ ...call, timeoutMs, signal });
      } catch (error) {
        signal?.throwIfAborted();
        const jitteredMs = pauseMs * (0.75 + Math.random() / 2);
        if (!isTemporary(error) || nowMs() - startMs + jitteredMs > retryMs) throw error;
        this.onRetry(error);
        await pause(jitteredMs, signal);
      }
    }
  }
}

const pathOf = (id: string) => `/leases/${encodeURIComponent(id)}`;
