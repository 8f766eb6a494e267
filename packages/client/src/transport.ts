import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { connectionFailure } from './connection-failure.js';
import { NodepoolClientError, RefusedError } from './errors.js';
import { logInLocally } from './local-login.js';
import { isLoopback, readAddress, socketPathOf } from './server-address.js';

/** Where the server is, and who calls. */
export interface TransportOptions {
  readonly url: string;
  readonly token?: string | undefined;
  readonly ca?: string | undefined;
  /** Whether a token may be sent over plain HTTP to another computer. */
  readonly insecure?: boolean | undefined;
}

/** A call of the API. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Below the address of the server. */
  readonly path: string;
  readonly body?: object;
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal | undefined;
  /** Longest silence of the server. */
  readonly timeoutMs: number;
}

/** Answers are a few KiB for each node. */
const LARGEST_ANSWER_BYTES = 64 * 1024 * 1024;
const LONGEST_IDLE_MS = 20_000;
const LOGIN_MS = 15_000;

/**
 * Sends calls to one server, with Node's own HTTP client: `fetch` cannot be given the certificate of a private authority.
 * Redirects are not followed, so that the token reaches this server alone.
 */
export class Transport {
  /** Address of the server, without a slash at its end. */
  readonly url: string;
  /** Given, or of the login on a socket. */
  #token: string | undefined;
  /** Path of a Unix socket. */
  readonly #socketPath: string | undefined;
  /** A socket on which the user of this process logs in. */
  readonly #loginSocket: string | undefined;
  readonly #agent: HttpAgent | HttpsAgent;
  readonly #isTls: boolean;
  readonly #hasCa: boolean;
  #hasAnswered = false;
  /** Of the address; empty if it has none. */
  readonly #path: string;

  /** @throws NodepoolClientError `wrong-argument`, `insecure` */
  constructor({ url, token, ca, insecure = false }: TransportOptions) {
    const parsed = readAddress(url);
    if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
      throw new NodepoolClientError(
        'wrong-argument',
        'The token is empty or has blanks; it is one word of ASCII letters',
      );
    }
    if (token !== undefined && !insecure) refuseOpenWay(parsed);
    this.#socketPath = socketPathOf(parsed);
    this.#loginSocket = token === undefined ? this.#socketPath : undefined;
    this.#path = this.#socketPath === undefined ? parsed.pathname.replace(/\/+$/, '') : '';
    this.url = this.#socketPath === undefined ? `${parsed.origin}${this.#path}` : `unix:${this.#socketPath}`;
    this.#token = token;
    this.#hasCa = ca !== undefined;
    this.#isTls = parsed.protocol === 'https:';
    const kept = { keepAlive: true, timeout: LONGEST_IDLE_MS };
    this.#agent = this.#isTls ? new HttpsAgent({ ...kept, ...(ca !== undefined && { ca }) }) : new HttpAgent(kept);
  }

  /**
   * Sends a call once. @returns the answer, whose body is still to come
   * @throws UnreachableError; RefusedError for a status of 400 and more; the signal's reason
   */
  async open(call: Call): Promise<IncomingMessage> {
    this.#token ??= await this.#logIn(call.signal);
    let response = await this.#send(call);
    if (response.statusCode === 401 && this.#loginSocket !== undefined) {
      response.resume();
      this.#token = await this.#logIn(call.signal); // the former one is too old, or of a launcher that is gone
      response = await this.#send(call);
    }
    return this.#succeeded(response, call);
  }

  /** The token of the user of this process, on a socket. */
  async #logIn(signal: AbortSignal | undefined): Promise<string | undefined> {
    if (this.#loginSocket === undefined) return undefined;
    return logInLocally(this.#loginSocket, async (path, authorization) => {
      const call = { method: 'POST', path, signal, timeoutMs: LOGIN_MS, authorization } as const;
      return parse(await this.#read(await this.#succeeded(await this.#send(call), call), call));
    });
  }

  async #succeeded(response: IncomingMessage, call: Call): Promise<IncomingMessage> {
    if (response.statusCode !== undefined && response.statusCode >= 200 && response.statusCode < 300) return response;
    throw this.#refusal(response.statusCode ?? 0, await this.#read(response, call));
  }

  /** Sends a call once. @returns the body, parsed. @throws as {@link open} */
  async json(call: Call): Promise<unknown> {
    const text = await this.#read(await this.open(call), call);
    const body = parse(text);
    if (body !== undefined) return body;
    throw new NodepoolClientError('not-nodepool', `${this.url} did not answer with JSON: ${this.#advice}`);
  }

  /** Closes idle connections. */
  close(): void {
    this.#agent.destroy();
  }

  get #advice(): string {
    return "is it the address of a launcher's web server, such as http://nl01:8005?";
  }

  #send({
    method,
    path,
    body,
    idempotencyKey,
    signal,
    timeoutMs,
    ...call
  }: Call & { authorization?: string | undefined }): Promise<IncomingMessage> {
    signal?.throwIfAborted();
    const text = body && JSON.stringify(body);
    const authorization = call.authorization ?? (this.#token === undefined ? undefined : `Bearer ${this.#token}`);
    const headers = {
      accept: 'application/json, text/event-stream',
      ...(authorization !== undefined && { authorization }),
      ...(text !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    };
    const options = { method, headers, agent: this.#agent, socketPath: this.#socketPath };
    const base = this.#socketPath === undefined ? this.url : 'http://localhost';
    return new Promise((resolve, reject) => {
      let isComplete = () => false;
      const request = (this.#isTls ? httpsRequest : httpRequest)(`${base}${path}`, options, (response) => {
        isComplete = () => response.complete;
        this.#hasAnswered = true;
        resolve(response);
      });
      // Node's own `signal` would destroy a socket that is idle again, with an error that no caller can catch.
      const abort = () => void (isComplete() || request.destroy(signal?.reason as Error));
      signal?.addEventListener('abort', abort);
      request.on('close', () => signal?.removeEventListener('abort', abort));
      const seconds = Math.round(timeoutMs / 10) / 100;
      request.setTimeout(timeoutMs, () => request.destroy(new Error(`no answer within ${seconds} s`)));
      request.on('error', (error) => reject(this.#failure(error, signal)));
      request.end(text);
    });
  }

  async #read(response: IncomingMessage, { signal }: Call): Promise<string> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const chunk of response as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > LARGEST_ANSWER_BYTES) throw new Error(`the answer has more than ${LARGEST_ANSWER_BYTES} bytes`);
        chunks.push(chunk);
      }
    } catch (error) {
      throw this.#failure(error as Error, signal);
    }
    return Buffer.concat(chunks).toString();
  }

  #failure(error: NodeJS.ErrnoException, signal: AbortSignal | undefined): Error {
    if (signal?.aborted) return signal.reason as Error;
    const called = { url: this.url, isTls: this.#isTls, hasCa: this.#hasCa, hasAnswered: this.#hasAnswered };
    return connectionFailure(error, called);
  }

  #refusal(status: number, text: string): NodepoolClientError {
    const body = (parse(text) ?? {}) as Readonly<Record<string, unknown>>;
    const { code = body['error'], detail = body['text'], longest_ttl: longest } = body; // `/explain` has the former
    if (typeof code !== 'string') {
      return new RefusedError(status, 'not-nodepool', `${this.url} answered with status ${status}: ${this.#advice}`);
    }
    const why = typeof detail === 'string' ? detail : code;
    const advice = code === 'not-found' && this.#path !== '' ? `: leave "${this.#path}" out of ${this.url}` : '';
    return new RefusedError(status, code, `${why}${advice}`, typeof longest === 'number' ? longest * 1000 : undefined);
  }
}

/** @throws NodepoolClientError `insecure` */
function refuseOpenWay(url: URL): void {
  if (url.protocol !== 'http:' || isLoopback(url)) return;
  const text =
    `The token was not sent to ${url.origin}: over plain HTTP, others can read it on the way. Write https:// (docs: "HTTPS" of the ` +
    'web API), or say that the network is yours alone with the option insecure';
  throw new NodepoolClientError('insecure', text);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
