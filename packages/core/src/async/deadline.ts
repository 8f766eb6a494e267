import { setMaxListeners } from 'node:events';
import { steadyNow, type Clock } from '@nodepool/zk-protocol';

/** A signal that is aborted with the caller's, or when the time is over. Always {@link Deadline.end} it. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** The time was over before the caller aborted. */
  readonly expired: boolean;
  /** Milliseconds left, never negative. */
  remainingMs(): number;
  /** Stops the timer and aborts the signal, which releases its listeners. */
  end(): void;
}

/** Shared by all deadlines: recording a stack each time would cost time for nothing. */
const ENDED = new Error('the work under this deadline has ended');

/** Starts a deadline `timeoutMs` milliseconds from now; with no time left it expires at once. */
export function startDeadline(clock: Clock, timeoutMs: number, signal: AbortSignal | undefined): Deadline {
  const controller = new AbortController();
  // every connection of a key scan listens
  setMaxListeners(0, controller.signal);
  const endsAt = steadyNow(clock) + timeoutMs;
  let expired = false;
  const onAbort = () => controller.abort(signal?.reason);
  const expire = () => {
    expired = !controller.signal.aborted;
    controller.abort(new Error(`no answer within ${timeoutMs} ms`));
  };
  const cancel = clock.setTimer(timeoutMs, expire);
  if (signal?.aborted) onAbort();
  else if (timeoutMs <= 0) expire();
  else signal?.addEventListener('abort', onAbort, { once: true });
  return {
    signal: controller.signal,
    get expired() {
      return expired;
    },
    remainingMs: () => Math.max(0, endsAt - steadyNow(clock)),
    end() {
      cancel();
      signal?.removeEventListener('abort', onAbort);
      controller.abort(ENDED);
    },
  };
}
