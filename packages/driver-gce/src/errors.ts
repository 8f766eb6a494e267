import {
  CapacityError,
  ConfigError,
  LaunchError,
  NotFoundError,
  ProviderUnavailableError,
  QuotaError,
  RateLimitedError,
} from '@nodepool/core';
import type { ApiOperation } from './api.js';

/** A zone is out of stock of a machine type; nothing was created. */
export class StockOutError extends CapacityError {}

/** An instance of this name exists. */
export class AlreadyExistsError extends LaunchError {}

/** A refused call or a failed operation of Compute Engine. */
export interface Refusal {
  /** HTTP status of the answer, or of the operation. */
  readonly status: number;
  /** `reason` of an answer, `code` of an operation. */
  readonly code: string;
  readonly message: string;
  readonly retryAfterMs?: number | undefined;
}

/** Errors by code; the first match wins. Answers spell reasons `likeThis`, operations `LIKE_THIS`. */
const BY_CODE: readonly [RegExp, (message: string, refusal: Refusal) => Error][] = [
  [/^(rateLimitExceeded|userRateLimitExceeded|RATE_LIMIT_EXCEEDED|RESOURCE_OPERATION_RATE_EXCEEDED)$/, rateLimited],
  [/^ZONE_RESOURCE_POOL_EXHAUSTED|^RESOURCE_POOL_EXHAUSTED|^resourcePoolExhausted$/, (text) => new StockOutError(text)],
  [/^(quotaExceeded|limitExceeded|QUOTA_EXCEEDED|LIMIT_EXCEEDED)$/, (text) => new QuotaError(text)],
  [/^IP_SPACE_EXHAUSTED/, (text) => new CapacityError(text)],
  [/^(alreadyExists|RESOURCE_ALREADY_EXISTS)$/, (text) => new AlreadyExistsError('status', text)],
  [/^(notFound|RESOURCE_NOT_FOUND)$/, (text) => new NotFoundError(text)],
  [/^(resourceNotReady|RESOURCE_NOT_READY)$/, (text) => new ProviderUnavailableError(text)],
  [/^(PERMISSIONS_ERROR|CONDITION_NOT_MET|UNSUPPORTED_OPERATION|INVALID_\w+)$/, (text) => new ConfigError(text)],
];

/** The error of a refused call. @param what - the call, for the message */
export function errorOfAnswer(what: string, refusal: Refusal): Error {
  const message = `${what}: ${refusal.status} ${refusal.code}: ${refusal.message}`;
  const byCode = BY_CODE.find(([pattern]) => pattern.test(refusal.code))?.[1];
  if (byCode) return byCode(message, refusal);
  if (refusal.status === 429) return rateLimited(message, refusal);
  if (refusal.status === 404) return new NotFoundError(message);
  if (refusal.status === 403) return new ConfigError(`${message} (see the permissions in docs/gce.md)`);
  if (refusal.status === 400 || refusal.status === 412) return new ConfigError(message);
  return new ProviderUnavailableError(message);
}

/** The error of an operation; `undefined` if it succeeded or is running. */
export function errorOfOperation(what: string, { error, httpErrorStatusCode = 0 }: ApiOperation): Error | undefined {
  const [first] = error?.errors ?? [];
  if (!first) return undefined;
  const refusal = { status: httpErrorStatusCode, code: first.code ?? '', message: first.message ?? 'no reason given' };
  const message = `${what}: ${refusal.code}: ${refusal.message}`;
  const byCode = BY_CODE.find(([pattern]) => pattern.test(refusal.code))?.[1];
  return byCode?.(message, refusal) ?? new LaunchError('status', message);
}

function rateLimited(message: string, { retryAfterMs }: Refusal): Error {
  return new RateLimitedError(message, { retryAfterMs });
}
