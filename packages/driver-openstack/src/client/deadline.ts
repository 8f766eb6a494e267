import type { Clock } from '@nodepool/zk-protocol';

/** A signal that is aborted at the deadline or with another signal. */
export interface CallDeadline {
  readonly signal: AbortSignal;
  /** Whether the deadline has passed. */
  readonly expired: boolean;
  /** Releases the timer and the listener. */
  end(): void;
}

/** Starts a deadline. */
export function startCallDeadline(clock: Clock, timeoutMs: number, parent: AbortSignal): CallDeadline {
  const controller = new AbortController();
  let expired = false;
  const onAbort = () => controller.abort(parent.reason);
  const cancel = clock.setTimer(timeoutMs, () => {
    expired = true;
    controller.abort(new Error(`no answer within ${timeoutMs} ms`));
  });
  if (parent.aborted) onAbort();
  else parent.addEventListener('abort', onAbort, { once: true });
  return {
    signal: controller.signal,
    get expired() {
      return expired;
    },
    end() {
      cancel();
      parent.removeEventListener('abort', onAbort);
    },
  };
}
