import { NodepoolError } from '@nodepool/core';
import type { ServiceName } from './clouds/types.js';

/**
 * Meaning of a failed call.
 * - `quota` the quota of the project is exhausted
 * - `capacity` the cloud has no capacity
 * - `not-found` the resource does not exist
 * - `conflict` the state of the resource does not allow the call
 * - `forbidden` a policy does not allow the call
 * - `unauthorized` the credentials were refused
 * - `bad-request` the cloud considers the call invalid
 * - `rate` too many calls; this one had no effect
 * - `unavailable` no answer or an invalid one; the call may have taken effect
 */
export type FailureKind =
  | 'quota'
  | 'capacity'
  | 'not-found'
  | 'conflict'
  | 'forbidden'
  | 'unauthorized'
  | 'bad-request'
  | 'rate'
  | 'unavailable';

/** Error codes: those of core, and additional ones. */
const CODES: Readonly<Record<FailureKind, string>> = {
  quota: 'NODEPOOL_QUOTA',
  capacity: 'NODEPOOL_CAPACITY',
  'not-found': 'NODEPOOL_NOT_FOUND',
  conflict: 'NODEPOOL_CLOUD_CONFLICT',
  forbidden: 'NODEPOOL_CLOUD_FORBIDDEN',
  unauthorized: 'NODEPOOL_CLOUD_UNAUTHORIZED',
  'bad-request': 'NODEPOOL_CLOUD_BAD_REQUEST',
  rate: 'NODEPOOL_PROVIDER_UNAVAILABLE',
  unavailable: 'NODEPOOL_PROVIDER_UNAVAILABLE',
};

/** Details of a failed call. */
export interface OpenStackErrorOptions {
  readonly service: ServiceName;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** `undefined`: there was no answer. */
  readonly status?: number | undefined;
  /** Request id in the log of the service. */
  readonly requestId?: string | undefined;
  /** Delay that the cloud requested. */
  readonly retryAfterMs?: number | undefined;
  /** Message of the service. */
  readonly reason?: string | undefined;
  readonly cause?: unknown;
}

/** A failed call. Its `code` is that of the matching error of core, if any. */
export class OpenStackError extends NodepoolError {
  readonly kind: FailureKind;
  readonly service: ServiceName;
  readonly method: string;
  readonly path: string;
  readonly status: number | undefined;
  readonly requestId: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** Message of the service. */
  readonly reason: string | undefined;
  /** Whether the call had no effect and may be repeated later. */
  readonly rateLimited: boolean;

  constructor(kind: FailureKind, message: string, options: OpenStackErrorOptions) {
    super(CODES[kind], message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.service = options.service;
    this.method = options.method;
    this.path = options.path;
    this.status = options.status;
    this.requestId = options.requestId;
    this.retryAfterMs = options.retryAfterMs;
    this.reason = options.reason;
    this.rateLimited = kind === 'rate';
  }
}

/** Whether an error is an `OpenStackError`, optionally of a kind. */
export function isOpenStackError(error: unknown, kind?: FailureKind): error is OpenStackError {
  return error instanceof OpenStackError && (kind === undefined || error.kind === kind);
}

/** The result of a call, or `undefined` where the cloud does not offer it, or not to us. @throws other failures */
export async function unlessRefused<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (isOpenStackError(error) && error.code !== 'NODEPOOL_PROVIDER_UNAVAILABLE') return undefined;
    throw error;
  }
}
