import { setMaxListeners } from 'node:events';
import type { Readable } from 'node:stream';
import { orAbort, steadyNow, type Clock, type Json, type JsonObject } from '@nodepool/zk-protocol';
import type { Logger, OperationMetrics, TaskManager } from '@nodepool/core';
import { callName } from './call-name.js';
import { errorOfAnswer, errorWithoutAnswer, requestIdOf, type CalledWith } from './classify.js';
import type { Credentials } from './clouds/credentials.js';
import type { CloudSettings, ServiceName } from './clouds/types.js';
import { startCallDeadline } from './deadline.js';
import { isOpenStackError } from './errors.js';
import type { Token } from './keystone.js';
import { Lanes, type Lane } from './lanes.js';
import { RefusedLogins } from './refused-logins.js';
import { TokenSource, type RefusedLogin, type TokenAnswer } from './token-source.js';
import type { Transport, TransportResponse } from './transport.js';

/** Options of a session. */
export interface SessionOptions {
  readonly settings: CloudSettings;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Name in metrics, usually that of the provider. */
  readonly name: string;
  readonly metrics?: OperationMetrics | undefined;
  /** Calls per second to each service; `undefined`: no limit. */
  readonly requestsPerSecond?: number | undefined;
  /** Credentials, read before each login. Default: those of the settings. */
  readonly credentials?: (() => Credentials) | undefined;
  /** Refused credentials, shared by all clients of a process. Default: one per client. */
  readonly logins?: RefusedLogins | undefined;
  /** Number in [0, 1). */
  readonly random: () => number;
}

/** A body that is sent piece by piece. */
export interface StreamBody {
  /** Opens it at its beginning; each attempt sends all of it. */
  readonly open: () => Readable;
  readonly length: number;
}

/** A call to a service. */
export interface SessionCall {
  readonly service: ServiceName;
  readonly lane: Lane;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Whole. */
  readonly url: string;
  /** Path below the root of the service, for the name in metrics. */
  readonly path: string;
  readonly body?: JsonObject | Json[] | undefined;
  /** Body that is not JSON. */
  readonly stream?: StreamBody | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal: AbortSignal;
  /** Default: the timeout of the cloud. */
  readonly timeoutMs?: number | undefined;
}

/** Answer of a service. */
export interface SessionAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** `undefined`: empty. */
  readonly body: Json | undefined;
}

/** Errors of an idle connection that the server closed: the call was never read. */
const STALE_CONNECTION = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);
const TOKEN_TIMEOUT_MS = 30_000;

/**
 * Authenticated calls to the services of one cloud, with rate limit, timeout, one log line and one metric each. Renews a
 * refused token once per call.
 */
export class Session {
  readonly settings: CloudSettings;
  readonly #options: SessionOptions;
  readonly #lanes: Lanes;
  readonly #tokens: TokenSource;
  readonly #stop = new AbortController();

  constructor(options: SessionOptions) {
    setMaxListeners(0, this.#stop.signal); // one for each call that several share
    this.#options = options;
    this.settings = options.settings;
    this.#lanes = new Lanes({ ...options, requestsPerSecond: options.requestsPerSecond });
    const logins = options.logins ?? new RefusedLogins();
    const { settings, clock, credentials = () => ({ auth: settings.auth, stamp: '' }) } = options;
    this.#tokens = new TokenSource(settings, clock, logins, credentials, (url, body) => this.#fetchToken(url, body));
  }

  /** Aborted when the session is closed; for calls that several callers share. */
  get closed(): AbortSignal {
    return this.#stop.signal;
  }

  /** The refused login; `undefined` once Keystone has accepted one. */
  get refusal(): RefusedLogin | undefined {
    return this.#tokens.refusal;
  }

  /** The queues of its calls. */
  get taskManagers(): readonly TaskManager[] {
    return this.#lanes.taskManagers;
  }

  /**
   * The current token with the catalogue; `undefined` for clouds without authentication.
   * @param forMs - how long it has to last, as far as tokens last so long
   */
  async token(signal: AbortSignal, forMs = 0): Promise<Token | undefined> {
    signal.throwIfAborted();
    return orAbort(this.#tokens.get(forMs), signal);
  }

  /**
   * Makes a call.
   * @throws {OpenStackError} the call failed; the signal's reason on abort
   */
  call(call: SessionCall): Promise<SessionAnswer> {
    const name = callName(call.service, call.method, call.path);
    return this.#lanes.run(call.service, call.lane, name, (signal) => this.#authenticated(call, signal), call.signal);
  }

  /** Aborts all calls. */
  async close(): Promise<void> {
    this.#stop.abort(new Error('the client is closed'));
    await this.#lanes.close();
    await this.#options.transport.close();
  }

  async #authenticated(call: SessionCall, signal: AbortSignal): Promise<SessionAnswer> {
    const token = await this.token(signal, call.stream && call.timeoutMs);
    try {
      return await this.#send(call, token, signal);
    } catch (error) {
      if (!token || !isOpenStackError(error, 'unauthorized')) throw error;
      this.#tokens.refused(token);
      return this.#send(call, await this.token(signal), signal);
    }
  }

  async #send(call: SessionCall, token: Token | undefined, signal: AbortSignal): Promise<SessionAnswer> {
    const { stream, body } = call;
    const headers: Record<string, string> = {
      accept: 'application/json',
      'user-agent': 'nodepool',
      ...(token && { 'x-auth-token': token.id }),
      ...(body && { 'content-type': 'application/json' }),
      ...(stream && { 'content-type': 'application/octet-stream', 'content-length': String(stream.length) }),
      ...call.headers,
    };
    const data = stream?.open();
    const wire = { method: call.method, url: call.url, headers, body: body ? JSON.stringify(body) : data };
    try {
      const response = await this.#exchange(call, wire, call.timeoutMs ?? this.settings.timeoutMs, signal);
      return { status: response.status, headers: response.headers, body: this.#parse(call, response) };
    } finally {
      data?.destroy();
    }
  }

  /** One request with its answer, logged and counted. Repeats GET and DELETE once if an idle connection was closed. */
  async #exchange(
    call: Pick<SessionCall, 'service' | 'method' | 'url' | 'path'>,
    wire: { method: string; url: string; headers: Record<string, string>; body: string | Readable | undefined },
    timeoutMs: number,
    parent: AbortSignal,
  ): Promise<TransportResponse> {
    const { clock, transport } = this.#options;
    const called: CalledWith = { service: call.service, method: call.method, path: new URL(call.url).pathname };
    const name = callName(call.service, call.method, call.path);
    const startedMs = steadyNow(clock);
    const deadline = startCallDeadline(clock, timeoutMs, parent);
    try {
      const response = await sendTwiceAtMost(transport, { ...wire, signal: deadline.signal });
      this.#report(name, called, steadyNow(clock) - startedMs, String(response.status), requestIdOf(response.headers));
      // lists of versions have status 300
      if (response.status <= 300) return response;
      throw errorOfAnswer(called, response, response.text, clock.now());
    } catch (error) {
      if (isOpenStackError(error)) throw error;
      this.#report(name, called, steadyNow(clock) - startedMs, 'error.network', undefined, error);
      if (parent.aborted) throw parent.reason;
      if (deadline.expired) throw errorWithoutAnswer(called, `was not answered within ${timeoutMs / 1_000} s`, error);
      throw errorWithoutAnswer(called, `could not be made: ${causeOf(error)}`, error);
    } finally {
      deadline.end();
    }
  }

  #parse(call: SessionCall, response: TransportResponse): Json | undefined {
    if (response.text === '') return undefined;
    if (call.stream) return undefined;
    const type = response.headers['content-type'] ?? '';
    const called = { service: call.service, method: call.method, path: new URL(call.url).pathname };
    if (type !== '' && !type.includes('json') && !looksLikeJson(response.text)) {
      throw errorWithoutAnswer(
        called,
        `was answered with ${type.split(';')[0]} instead of JSON: is a proxy in between?`,
      );
    }
    try {
      return JSON.parse(response.text) as Json;
    } catch (cause) {
      throw errorWithoutAnswer(called, 'was answered with JSON that is cut off or broken', cause);
    }
  }

  async #fetchToken(url: string, body: string): Promise<TokenAnswer> {
    const headers = { accept: 'application/json', 'content-type': 'application/json', 'user-agent': 'nodepool' };
    const call = { service: 'identity', method: 'POST', url, path: '/auth/tokens' } as const;
    const wire = { method: 'POST', url, headers, body };
    const response = await this.#exchange(call, wire, TOKEN_TIMEOUT_MS, this.#stop.signal);
    const parsed = this.#parse({ ...call, lane: 'read', signal: this.#stop.signal }, response);
    return { token: response.headers['x-subject-token'], body: parsed ?? null };
  }

  #report(call: string, called: CalledWith, ms: number, outcome: string, requestId?: string, error?: unknown): void {
    const { logger, metrics, name } = this.#options;
    const { service, method, path } = called;
    metrics?.apiCall?.(name, call, ms, outcome, this.#options.settings.metricsPrefix);
    const status = error === undefined ? Number(outcome) : causeOf(error);
    // `requestId` is the field of node requests
    logger.debug('Called the cloud', { service, method, path, status, ms, cloudRequestId: requestId });
  }
}

async function sendTwiceAtMost(
  transport: Transport,
  request: Parameters<Transport['send']>[0],
): Promise<TransportResponse> {
  try {
    return await transport.send(request);
  } catch (error) {
    const isRepeatable = request.method === 'GET' || request.method === 'DELETE';
    if (!isRepeatable || request.signal.aborted || !STALE_CONNECTION.has(codeOf(error))) throw error;
    return transport.send(request);
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** The cause, without values that may be secret. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const inner = error.cause instanceof Error ? error.cause : error;
  const [first] = inner instanceof AggregateError ? (inner.errors as unknown[]) : [];
  return first instanceof Error ? first.message : inner.message;
}

function looksLikeJson(text: string): boolean {
  return /^\s*[{[]/.test(text);
}
