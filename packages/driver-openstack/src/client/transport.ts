import { readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { Agent, errors, request as undiciRequest } from 'undici';
import { ConfigError } from '@nodepool/core';
import type { CloudSettings } from './clouds/types.js';

/** An HTTP request. */
export interface TransportRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Readable | undefined;
  readonly signal: AbortSignal;
}

/** An answer with its complete body. */
export interface TransportResponse {
  readonly status: number;
  /** By lower-case name; the first of repeated headers. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Sends requests to the services of a cloud. */
export interface Transport {
  /** Rejects without a complete answer, and with the signal's reason on abort. Never follows redirects. */
  send(request: TransportRequest): Promise<TransportResponse>;
  close(): Promise<void>;
}

/** Far above any answer of an API; protects the memory from an endless one. */
const MAX_ANSWER_MIB = 64;
const CONNECT_TIMEOUT_MS = 20_000;

/**
 * Keep-alive connections, with the TLS settings of the cloud.
 * @throws {ConfigError} a certificate file cannot be read
 */
export function createTransport(settings: CloudSettings): Transport {
  return new UndiciTransport(settings);
}

class UndiciTransport implements Transport {
  readonly #agent: Agent;

  constructor({ name, cacert, cert, key, verify }: CloudSettings) {
    this.#agent = new Agent({
      // No connection limit here: lanes have limits, and a common limit would let hanging deletions block a list.
      headersTimeout: 0, // every call has its own deadline
      bodyTimeout: 0,
      maxResponseSize: MAX_ANSWER_MIB * 1024 * 1024,
      connect: {
        timeout: CONNECT_TIMEOUT_MS,
        rejectUnauthorized: verify,
        ...(cacert !== undefined && { ca: readPem(name, 'cacert', cacert) }),
        ...(cert !== undefined && { cert: readPem(name, 'cert', cert) }),
        ...(cert !== undefined && { key: readPem(name, 'key', key ?? cert) }),
      },
    });
  }

  async send({ method, url, headers, body, signal }: TransportRequest): Promise<TransportResponse> {
    const options = { dispatcher: this.#agent, method, headers, body: body ?? null, signal };
    try {
      const answer = await undiciRequest(url, options);
      return { status: answer.statusCode, headers: flatten(answer.headers), text: await answer.body.text() };
    } catch (cause) {
      if (!(cause instanceof errors.ResponseExceededMaxSizeError)) throw cause;
      const message = `the answer is larger than ${MAX_ANSWER_MIB} MiB: is this the API of the service?`;
      throw new errors.ResponseExceededMaxSizeError(message);
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

function readPem(cloud: string, key: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new ConfigError(`cloud "${cloud}": ${key} ${file} cannot be read: ${(cause as Error).message}`, [], {
      cause,
    });
  }
}

function flatten(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const first = Array.isArray(value) ? value[0] : value;
    if (first !== undefined) flat[name.toLowerCase()] = first;
  }
  return flat;
}
