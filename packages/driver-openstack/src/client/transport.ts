import type { Readable } from 'node:stream';

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
