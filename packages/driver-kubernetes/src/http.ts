import { ProviderUnavailableError, readRetryAfter, type Clock } from '@nodepool/core';
import { orAbort } from '@nodepool/zk-protocol';
import { errors, type Dispatcher } from 'undici';
import type { ApiStatus, ApiWatchEvent } from './api.js';
import type { Credentials, Login } from './credentials.js';
import { errorOfAnswer, messageOf } from './errors.js';
import type { EndingLogin } from './login-ends.js';
import { createDispatcher } from './proxy.js';
import { readLines } from './read-lines.js';

/** One call. */
export interface HttpCall {
  readonly verb: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the server: `api/v1/namespaces`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>> | undefined;
  readonly body?: unknown;
  /** Default 60,000. */
  readonly timeoutMs?: number | undefined;
}

/** A refused login. */
export interface RefusedLogin {
  readonly reason: 'NoAccessToken' | 'Unauthorized';
  readonly message: string;
  /** When it was first seen. */
  readonly sinceMs: number;
  /** When it was last seen. */
  readonly lastSeenMs: number;
}

/** Makes calls to the API server of a cluster. */
export interface Http {
  /** `undefined` while calls succeed. */
  readonly refusal?: RefusedLogin | undefined;
  /** What is wrong with credentials that are not refused yet. */
  readonly ending?: EndingLogin | undefined;
  /** The cluster and present credentials. */
  login(): Promise<Login>;
  /** @throws the errors of `errors.ts`; {@link ProviderUnavailableError}: no answer, or an invalid one */
  call<T>(call: HttpCall, signal: AbortSignal): Promise<T>;
  /** Events of a watch, until the server ends it. Rejects if nothing arrives for `timeoutMs` of the call. */
  watch<T>(call: HttpCall, signal: AbortSignal): AsyncIterable<ApiWatchEvent<T>>;
  close(): Promise<void>;
}

/** Options of an {@link Http}. */
export interface HttpOptions {
  readonly credentials: Credentials;
  readonly clock: Clock;
}

const TIMEOUT_MS = 60_000;
const MAX_CONNECTIONS = 64;
const SHOWN_CHARACTERS = 200;
/** Far above any list of own objects; protects the memory from an endless answer. */
const MAX_ANSWER_MIB = 256;

/** Calls over HTTP. Repeats only calls that were refused because of stale credentials, as they had no effect. */
export function createHttp(options: HttpOptions): Http {
  return new HttpCalls(options);
}

class HttpCalls implements Http {
  readonly #credentials: Credentials;
  readonly #clock: Clock;
  #refusal: RefusedLogin | undefined;
  #agent: { readonly of: string; readonly dispatcher: Dispatcher } | undefined;

  constructor({ credentials, clock }: HttpOptions) {
    this.#credentials = credentials;
    this.#clock = clock;
  }

  get refusal(): RefusedLogin | undefined {
    return this.#refusal;
  }

  get ending(): EndingLogin | undefined {
    return this.#credentials.ending;
  }

  async login(): Promise<Login> {
    try {
      return await this.#credentials.get();
    } catch (error) {
      this.#refused('NoAccessToken', messageOf(error));
      throw error;
    }
  }

  async call<T>(call: HttpCall, signal: AbortSignal): Promise<T> {
    const what = `${call.verb} ${call.path}`;
    const late = this.#deadline(what, call.timeoutMs ?? TIMEOUT_MS, signal);
    try {
      const answer = await orAbort(this.#answer(call, what, late.signal), late.signal);
      const text = await orAbort(answer.body.text(), late.signal);
      return read<T>(what, answer, text);
    } catch (error) {
      late.signal.throwIfAborted();
      throw noAnswer(what, error);
    } finally {
      late.end();
    }
  }

  async *watch<T>(call: HttpCall, signal: AbortSignal): AsyncIterable<ApiWatchEvent<T>> {
    const what = `watch of ${call.path}`;
    const silence = this.#deadline(what, call.timeoutMs ?? TIMEOUT_MS, signal);
    try {
      const answer = await orAbort(this.#answer(call, what, silence.signal), silence.signal);
      if (answer.statusCode !== 200) read(what, answer, await answer.body.text());
      for await (const line of readLines(answer.body, MAX_ANSWER_MIB * 1_024 * 1_024)) {
        silence.restart();
        yield parse(what, answer.statusCode, line) as ApiWatchEvent<T>;
      }
    } catch (error) {
      silence.signal.throwIfAborted();
      throw noAnswer(what, error);
    } finally {
      silence.end();
    }
  }

  async close(): Promise<void> {
    await this.#agent?.dispatcher.destroy();
  }

  /** The answer; with new credentials if those at hand are refused. */
  async #answer(call: HttpCall, what: string, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const first = await this.#send(call, signal);
    if (first.statusCode !== 401) {
      this.#refusal = undefined;
      return first;
    }
    await first.body.dump();
    this.#credentials.forget();
    const second = await this.#send(call, signal);
    if (second.statusCode === 401) this.#refused('Unauthorized', `${what}: 401: the cluster refuses the credentials`);
    else this.#refusal = undefined;
    return second;
  }

  async #send({ verb, path, query = {}, body }: HttpCall, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const login = await this.login();
    signal.throwIfAborted();
    const { origin, pathname } = new URL(login.cluster.server);
    const given = Object.entries(query).filter((one): one is [string, string] => one[1] !== undefined);
    const search = given.length > 0 ? `?${new URLSearchParams(given).toString()}` : '';
    const type = verb === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    try {
      return await this.#agentFor(login).request({
        origin,
        path: `${pathname.replace(/\/$/, '')}/${path}${search}`,
        method: verb,
        headers: { ...login.headers, accept: 'application/json', ...(body !== undefined && { 'content-type': type }) },
        body: body === undefined ? null : JSON.stringify(body),
        signal,
      });
    } catch (error) {
      this.#credentials.forget(); // certificates may have been replaced
      throw error;
    }
  }

  #agentFor({ cluster, certificate, key }: Login): Dispatcher {
    const { ca, skipTls, tlsServerName, proxyUrl } = cluster;
    const of = JSON.stringify([cluster.server, ca, skipTls, tlsServerName, proxyUrl, certificate, key]);
    if (this.#agent?.of === of) return this.#agent.dispatcher;
    void this.#agent?.dispatcher.close();
    const tls = {
      ...{ ca, cert: certificate, key, rejectUnauthorized: !skipTls },
      ...(tlsServerName !== undefined && { servername: tlsServerName }),
    };
    // Timeouts run on the injected clock, so undici's are off.
    const limits = { connections: MAX_CONNECTIONS, headersTimeout: 0, bodyTimeout: 0 };
    const dispatcher = createDispatcher(proxyUrl, tls, limits);
    this.#agent = { of, dispatcher };
    return dispatcher;
  }

  #refused(reason: RefusedLogin['reason'], message: string): void {
    const nowMs = this.#clock.now();
    this.#refusal = { reason, message, sinceMs: this.#refusal?.sinceMs ?? nowMs, lastSeenMs: nowMs };
  }

  /** A signal that ends when nothing happens for this long. */
  #deadline(what: string, timeoutMs: number, signal: AbortSignal) {
    const late = new AbortController();
    const start = () =>
      this.#clock.setTimer(timeoutMs, () =>
        late.abort(new ProviderUnavailableError(`${what}: no answer within ${timeoutMs / 1_000} s`)),
      );
    let cancel = start();
    return {
      signal: AbortSignal.any([signal, late.signal]),
      restart: () => {
        cancel();
        cancel = start();
      },
      end: () => cancel(),
    };
  }
}

/** Errors of this package pass; all others mean that there was no answer. */
function noAnswer(what: string, cause: unknown): unknown {
  if (cause instanceof Error && 'code' in cause && String(cause.code).startsWith('NODEPOOL_')) return cause;
  const why =
    cause instanceof errors.ResponseExceededMaxSizeError
      ? `the answer is larger than ${MAX_ANSWER_MIB} MiB`
      : `no answer: ${messageOf(cause)}`;
  return new ProviderUnavailableError(`${what}: ${why}`, { cause });
}

function read<T>(what: string, { statusCode, headers }: Dispatcher.ResponseData, text: string): T {
  const body = parse(what, statusCode, text);
  // Answers are those of Kubernetes' API description; tests compare them with recorded ones.
  if (statusCode >= 200 && statusCode < 300) return body as T;
  const [retryAfter, date] = [headers['retry-after'], headers['date']].map((value) => value?.toString());
  throw errorOfAnswer(what, {
    status: statusCode,
    body: body as ApiStatus,
    retryAfterMs: readRetryAfter({ retryAfter, date }),
  });
}

function parse(what: string, status: number, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // `429` and proxies answer in plain text
    const beginning = text.slice(0, SHOWN_CHARACTERS).replace(/\s+/g, ' ').trim();
    if (status >= 400) return { reason: 'PlainText', message: beginning };
    throw new ProviderUnavailableError(`${what}: ${status} with a body that is not JSON: "${beginning}"`);
  }
}
