import { isNodepoolError } from '@nodepool/zk-protocol';
import { ProviderUnavailableError } from '../errors.js';
import type { CoreErrorOptions } from '../errors.js';

/**
 * The cloud answered "too many requests": the call had no effect. The task manager slows down and repeats it; everybody
 * else treats it as any {@link ProviderUnavailableError}.
 */
export class RateLimitedError extends ProviderUnavailableError {
  /** How long the cloud asks to wait, if it says. */
  readonly retryAfterMs: number | undefined;
  readonly rateLimited = true;

  constructor(message: string, options: CoreErrorOptions & { retryAfterMs?: number | undefined } = {}) {
    super(message, options);
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** Whether the error says "too many requests", whichever copy of this package made it. */
export function isRateLimited(error: unknown): error is RateLimitedError {
  return (
    isNodepoolError(error, 'NODEPOOL_PROVIDER_UNAVAILABLE') && 'rateLimited' in error && error.rateLimited === true
  );
}
