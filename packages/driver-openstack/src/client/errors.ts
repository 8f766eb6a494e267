import { NodepoolError } from '@nodepool/core';
import type { ServiceName } from './clouds/types.js';

/**
 * What an answer means for who asked.
 * - `quota` the project's quota is used up
 * - `capacity` the cloud has no capacity
 * - `not-found` there is no such thing
 * - `conflict` it is in a state that does not allow this
 * - `forbidden` a policy does not allow this
 * - `unauthorized` the credentials are not accepted
 * - `bad-request` the cloud does not understand what was asked
 * - `rate` one call too many: it had no effect
 * - `unavailable` no answer, or none that can be understood: the call may have taken effect
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

/** Codes that core acts upon, and further ones. */
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

/** What is known of a call that failed. */
export interface OpenStackErrorOptions {
  readonly service: ServiceName;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** `undefined`: there was no answer. */
  readonly status?: number | undefined;
  /** As the service logs it. */
  readonly requestId?: string | undefined;
  /** How long the cloud asks to wait. */
  readonly retryAfterMs?: number | undefined;
  /** What the service says. */
  readonly reason?: string | undefined;
  readonly cause?: unknown;
}

/** A call that failed. Its `code` is that of core's error for the same happening where there is one. */
export class OpenStackError extends NodepoolError {
  readonly kind: FailureKind;
  readonly service: ServiceName;
  readonly method: string;
  readonly path: string;
  readonly status: number | undefined;
  readonly requestId: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** What the service says. */
  readonly reason: string | undefined;
  /** The call had no effect and may be repeated when the cloud is less busy. */
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

/** Whether an error is one of these, of a kind if one is given. */
export function isOpenStackError(error: unknown, kind?: FailureKind): error is OpenStackError {
  return error instanceof OpenStackError && (kind === undefined || error.kind === kind);
}
