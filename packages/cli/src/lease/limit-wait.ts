import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import type { AcquireOptions } from './acquire-options.js';

/** A wait with a time limit. */
interface Waiting {
  readonly signal: AbortSignal;
  end(): void;
}

/**
 * Joins the caller's signal with the time limit.
 * @param subject - what waits, for the error
 * @param why - what it waits for when the time is over, if that is known
 */
export function limitWait(
  context: CliContext,
  { timeoutMs }: Pick<AcquireOptions, 'timeoutMs'>,
  subject: string,
  signal: AbortSignal,
  why: () => string | undefined = () => undefined,
): Waiting {
  if (timeoutMs === undefined) return { signal, end: () => {} };
  const limit = new AbortController();
  const text = () => {
    const missing = why();
    return `${subject} was not fulfilled within ${timeoutMs / 1000} s; gave up${missing === undefined ? '' : `: ${missing}`}`;
  };
  const end = context.clock.setTimer(timeoutMs, () => limit.abort(new CliError(text())));
  return { signal: AbortSignal.any([signal, limit.signal]), end };
}
