import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { NodepoolClientError, RefusedError, UnreachableError } from './errors.js';

/** Where the server is, and who calls. */
export interface TransportOptions {
  readonly url: string;
  readonly token?: string | undefined;
  readonly ca?: string | undefined;
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

/** Errors that a repetition does not mend, and what does. */
const PERMANENT: readonly (readonly [RegExp, string])[] = [
  [
    /CERT|UNABLE_TO_(GET_ISSUER|VERIFY)|SELF_SIGNED/,
    'its certificate is not trusted: name the certificate of its authority (option ca, --ca FILE, or NODE_EXTRA_CA_CERTS)',
  ],
  [/^EPROTO$|^ERR_SSL/, 'it does not speak TLS as expected: does the address need http:// or another port?'],
  [/^HPE_/, 'it does not speak HTTP as expected: does the address need https:// or another port?'],
  [/^ENOTFOUND$/, 'there is no host of this name'],
];

/**
 * Sends calls to one server, with Node's own HTTP client: `fetch` cannot be given the certificate of a private authority.
 * Redirects are not followed, so that the token reaches this server alone.
 */
export class Transport {
  /** Address of the server, without a slash at its end. */
  readonly url: string;
  readonly #token: string | undefined;
  readonly #agent: HttpAgent | HttpsAgent;
  readonly #isTls: boolean;

  /** @throws NodepoolClientError `wrong-argument` */
  constructor({ url, token, ca }: TransportOptions) {
    const parsed = URL.canParse(url) ? new URL(url) : undefined;
    if (!parsed || !/^https?:$/.test(parsed.protocol)) {
      throw new NodepoolClientError('wrong-argument', `The address "${url}" needs a form like https://nl01:8005`);
    }
    if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
      throw new NodepoolClientError(
        'wrong-argument',
        'The token is empty or has blanks; it is one word of ASCII letters',
      );
    }
    this.url = `${parsed.origin}${parsed.pathname}`.replace(/\/+$/, '');
    this.#token = token;
    this.#isTls = parsed.protocol === 'https:';
    const kept = { keepAlive: true, timeout: LONGEST_IDLE_MS };
    this.#agent = this.#isTls ? new HttpsAgent({ ...kept, ...(ca !== undefined && { ca }) }) : new HttpAgent(kept);
  }

  /**
   * Sends a call once. @returns the answer, whose body is still to come
   * @throws UnreachableError; RefusedError for a status of 400 and more; the signal's reason
   */
  async open(call: Call): Promise<IncomingMessage> {
    const response = await this.#send(call);
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

  #send({ method, path, body, idempotencyKey, signal, timeoutMs }: Call): Promise<IncomingMessage> {
    signal?.throwIfAborted();
    const text = body && JSON.stringify(body);
    const headers = {
      accept: 'application/json, text/event-stream',
      ...(this.#token !== undefined && { authorization: `Bearer ${this.#token}` }),
      ...(text !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    };
    const options = { method, headers, agent: this.#agent };
    return new Promise((resolve, reject) => {
      let isComplete = () => false;
      const request = (this.#isTls ? httpsRequest : httpRequest)(`${this.url}${path}`, options, (response) => {
        isComplete = () => response.complete;
        resolve(response);
      });
      // Node's own `signal` would destroy a socket that is idle again, with an error that no caller can catch.
      const abort = () => void (isComplete() || request.destroy(signal?.reason as Error));
      signal?.addEventListener('abort', abort);
      request.on('close', () => signal?.removeEventListener('abort', abort));
      request.setTimeout(timeoutMs, () => request.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)));
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
    const code = error.code ?? '';
    const permanent = PERMANENT.find(([pattern]) => pattern.test(code))?.[1];
    const advice =
      permanent ?? (code === 'ECONNRESET' && !this.#isTls ? 'if it speaks TLS, write https://' : undefined);
    const why = [error.message || code, ...(advice === undefined ? [] : [advice])].join('; ');
    return new UnreachableError(`Cannot reach ${this.url}: ${why}`, permanent !== undefined, { cause: error });
  }

  #refusal(status: number, text: string): NodepoolClientError {
    const { code, detail, longest_ttl: longest } = (parse(text) ?? {}) as Readonly<Record<string, unknown>>;
    if (typeof code === 'string') {
      const longestTtlMs = typeof longest === 'number' ? longest * 1000 : undefined;
      return new RefusedError(status, code, typeof detail === 'string' ? detail : code, longestTtlMs);
    }
    return new RefusedError(status, 'not-nodepool', `${this.url} answered with status ${status}: ${this.#advice}`);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
