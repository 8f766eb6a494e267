import { ProviderUnavailableError, readRetryAfter, type Clock } from '@nodepool/core';
import { orAbort } from '@nodepool/zk-protocol';
import { EnvHttpProxyAgent, errors, type Dispatcher } from 'undici';
import type { Credentials } from './credentials.js';
import { errorOfAnswer, type Refusal } from './errors.js';

/** One call. */
export interface HttpCall {
  readonly verb: 'GET' | 'POST' | 'DELETE';
  /** Below the endpoint: `projects/p/zones/z/instances`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>> | undefined;
  readonly body?: unknown;
  /** Default 60,000. */
  readonly timeoutMs?: number | undefined;
}

/** A refused login: no token, or a token that Google refuses. */
export interface RefusedLogin {
  readonly reason: 'NoAccessToken' | 'Unauthorized';
  readonly message: string;
  /** When it was first seen. */
  readonly sinceMs: number;
  /** When it was last seen. */
  readonly lastSeenMs: number;
}

/** Makes calls to the API and reads its answers. */
export interface Http {
  /** `undefined` while calls succeed. */
  readonly refusal?: RefusedLogin | undefined;
  /** @throws the errors of `errors.ts`; {@link ProviderUnavailableError}: no answer, or an invalid one */
  call<T>(call: HttpCall, signal: AbortSignal): Promise<T>;
  close(): Promise<void>;
}

/** Options of an {@link Http}. */
export interface HttpOptions {
  /** Base URL of the API. */
  readonly endpoint: string;
  readonly credentials: Credentials;
  readonly clock: Clock;
}

const TIMEOUT_MS = 60_000;
const MAX_CONNECTIONS = 64;
const SHOWN_CHARACTERS = 200;
/** Far above any answer of the API; protects the memory from an endless one. */
const MAX_ANSWER_MIB = 64;

/** Calls over HTTP. Retries only calls that Google refused because of stale credentials, as they had no effect. */
export function createHttp({ endpoint, credentials, clock }: HttpOptions): Http {
  // Timeouts run on the injected clock, so undici's are off.
  const maxResponseSize = MAX_ANSWER_MIB * 1_024 * 1_024;
  // Respects HTTPS_PROXY, HTTP_PROXY and NO_PROXY.
  const agent = new EnvHttpProxyAgent({
    connections: MAX_CONNECTIONS,
    maxResponseSize,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const login = new LoginMemory(clock);
  const send = async (call: HttpCall, what: string, signal: AbortSignal): Promise<Answer> => {
    const headers = await login.headers(credentials);
    signal.throwIfAborted();
    return login.answered(what, await sendOnce(agent, new URL(endpoint), call, headers, what, signal));
  };
  return {
    get refusal() {
      return login.refusal;
    },
    async call<T>(call: HttpCall, signal: AbortSignal): Promise<T> {
      const what = `${call.verb} ${call.path}`;
      const timeoutMs = call.timeoutMs ?? TIMEOUT_MS;
      const late = new AbortController();
      const cancel = clock.setTimer(timeoutMs, () =>
        late.abort(new ProviderUnavailableError(`${what}: no answer within ${timeoutMs / 1_000} s`)),
      );
      const either = AbortSignal.any([signal, late.signal]);
      try {
        const answer = await orAbort(send(call, what, either), either);
        if (answer.status !== 401) return read<T>(what, answer);
        credentials.forget();
        return read<T>(what, await orAbort(send(call, what, either), either));
      } finally {
        cancel();
      }
    },
    close: () => agent.destroy(),
  };
}

/** Login state according to the last answer. */
class LoginMemory {
  refusal: RefusedLogin | undefined;

  constructor(readonly clock: Pick<Clock, 'now'>) {}

  async headers(credentials: Credentials): Promise<Readonly<Record<string, string>>> {
    try {
      return await credentials.headers();
    } catch (error) {
      this.refused('NoAccessToken', messageOf(error));
      throw error;
    }
  }

  answered(what: string, answer: Answer): Answer {
    const { status, text } = answer;
    if (status === 401) this.refused('Unauthorized', `${what}: 401: ${text.slice(0, SHOWN_CHARACTERS)}`);
    else this.refusal = undefined;
    return answer;
  }

  refused(reason: RefusedLogin['reason'], message: string): void {
    const nowMs = this.clock.now();
    this.refusal = { reason, message, sinceMs: this.refusal?.sinceMs ?? nowMs, lastSeenMs: nowMs };
  }
}

async function sendOnce(
  agent: Dispatcher,
  { origin, pathname }: URL,
  { verb, path, query = {}, body }: HttpCall,
  headers: Readonly<Record<string, string>>,
  what: string,
  signal: AbortSignal,
): Promise<Answer> {
  const given = Object.entries(query).filter((one): one is [string, string] => one[1] !== undefined);
  const search = given.length > 0 ? `?${new URLSearchParams(given).toString()}` : '';
  try {
    const answer = await agent.request({
      origin,
      path: `${pathname.replace(/\/$/, '')}/${path}${search}`,
      method: verb,
      headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
      body: body === undefined ? null : JSON.stringify(body),
      signal,
    });
    const { 'retry-after': retryAfter, date } = answer.headers;
    const retryAfterMs = readRetryAfter({ retryAfter: textOf(retryAfter), date: textOf(date) });
    return { status: answer.statusCode, retryAfterMs, text: await answer.body.text() };
  } catch (cause) {
    signal.throwIfAborted();
    const why =
      cause instanceof errors.ResponseExceededMaxSizeError
        ? `the answer is larger than ${MAX_ANSWER_MIB} MiB: is "endpoint" the Compute Engine API?`
        : `no answer: ${messageOf(cause)}`;
    throw new ProviderUnavailableError(`${what}: ${why}`, { cause });
  }
}

interface Answer {
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  readonly text: string;
}

function read<T>(what: string, { status, retryAfterMs, text }: Answer): T {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    const beginning = text.slice(0, 100).replace(/\s+/g, ' ');
    throw new ProviderUnavailableError(`${what}: ${status} with a body that is not JSON: "${beginning}"`);
  }
  // Answers match Google's API description; tests check both sides against it.
  if (status >= 200 && status < 300) return body as T;
  throw errorOfAnswer(what, refusalOf(status, body, retryAfterMs));
}

function refusalOf(status: number, body: unknown, retryAfterMs: number | undefined): Refusal {
  const { error } = (body ?? {}) as { error?: { message?: string; errors?: { reason?: string }[] } };
  return {
    status,
    code: error?.errors?.[0]?.reason ?? 'unknown',
    message: error?.message ?? 'no reason given',
    retryAfterMs,
  };
}

function textOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
