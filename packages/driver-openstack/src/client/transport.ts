import type { Readable } from 'node:stream';

/** A request as it goes over the wire. */
export interface TransportRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Readable | undefined;
  readonly signal: AbortSignal;
}

/** An answer. The body is read whole. */
export interface TransportResponse {
  readonly status: number;
  /** Names in small letters; of a header that comes several times, the first. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Carries requests to the services of a cloud. */
export interface Transport {
  /** Rejects when no complete answer arrived, and with the signal's reason on abort. Never follows a redirect. */
  send(request: TransportRequest): Promise<TransportResponse>;
  close(): Promise<void>;
}
