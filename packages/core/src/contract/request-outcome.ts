import type { RequestRecord } from '@nodepool/zk-protocol';

/**
 * How the work of one pool on a request ended.
 * - `fulfilled`, `declined` written to the request
 * - `gone` the requestor withdrew it; its nodes are free again
 * - `put-back` it cannot be served here after all; it is `requested` again
 * - `gave-way` it held instances that another request may need; it is `requested` again (ADR 0015)
 * - `busy` another launcher holds its lock or changed it first; check again later
 * - `abandoned` the session or connection failed; another launcher resets the request
 */
export type RequestOutcome = 'fulfilled' | 'declined' | 'gone' | 'put-back' | 'gave-way' | 'busy' | 'abandoned';

/** The work of a pool on a request, once it has ended. */
export interface EndedWork {
  readonly outcome: RequestOutcome;
  readonly request: RequestRecord;
  readonly provider: string;
  /** Name of the pool. */
  readonly pool: string;
}
