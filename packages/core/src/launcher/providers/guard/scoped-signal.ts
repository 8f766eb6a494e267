import { inDriverScope, type DriverScope } from './driver-scope.js';

/** A signal for a driver, and the end of its connection to the launcher's. */
export interface ScopedSignal {
  readonly signal: AbortSignal;
  /** The signal is no longer needed. */
  release(): void;
}

/**
 * A signal that aborts when `signal` does, whose listeners run in the driver's scope: what one of them throws is the driver's
 * error, although it is the launcher that aborts.
 */
export function scopeSignal(signal: AbortSignal, scope: DriverScope): ScopedSignal {
  const own = new AbortController();
  return { signal: own.signal, release: follow(signal, own, scope) };
}

/** @returns to be called when `own` is no longer needed */
function follow(signal: AbortSignal, own: AbortController, scope: DriverScope): () => void {
  const abort = () => inDriverScope(scope, () => own.abort(signal.reason));
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return () => signal.removeEventListener('abort', abort);
}

/** Runs a driver's code in its scope, with a signal that it needs until its promise is settled. */
export async function inScopeWithSignal<T>(
  scope: DriverScope,
  signal: AbortSignal,
  run: (signal: AbortSignal) => T | Promise<T>,
): Promise<T> {
  const scoped = scopeSignal(signal, scope);
  try {
    return await inDriverScope(scope, () => run(scoped.signal));
  } finally {
    scoped.release();
  }
}

/** As {@link inScopeWithSignal} for code that may know its answer at once, which is then returned at once. May throw. */
export function askWithSignal(
  scope: DriverScope,
  signal: AbortSignal,
  ask: (signal: AbortSignal) => boolean | Promise<boolean> | undefined,
): boolean | Promise<boolean | undefined> {
  if (signal.aborted) return inScopeWithSignal(scope, signal, ask);
  const own = new AbortController();
  const answer = inDriverScope(scope, () => ask(own.signal));
  if (typeof answer === 'boolean') return answer;
  return Promise.resolve(answer).finally(follow(signal, own, scope));
}
