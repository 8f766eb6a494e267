import { systemClock } from '@nodepool/zk-protocol';

/** What an answer says about the next call. */
export interface RetryAfterHeaders {
  /** `Retry-After`. */
  readonly retryAfter: string | null | undefined;
  /** `Date`: the clock of the server, by which it computed a time. */
  readonly date?: string | null | undefined;
}

/**
 * The pause that an answer asks for: seconds, or an HTTP date. What is neither counts as missing, so that the caller's own pause
 * applies. The task manager limits the pause.
 * @param nowMs - used without a `Date`; default: the time of this computer
 * @returns milliseconds, never negative; `undefined`: it does not say
 */
export function readRetryAfter(
  { retryAfter, date }: RetryAfterHeaders,
  nowMs: number = systemClock.now(),
): number | undefined {
  const text = retryAfter?.trim() ?? '';
  if (/^\d+(\.\d*)?$/.test(text)) return Number(text) * 1_000;
  // `Date.parse` also takes a number for a year
  if (!/^[A-Z][a-z]+,? /.test(text)) return undefined;
  const untilMs = Date.parse(text);
  if (Number.isNaN(untilMs)) return undefined;
  const serverMs = Date.parse(date ?? '');
  return Math.max(0, untilMs - (Number.isNaN(serverMs) ? nowMs : serverMs));
}
