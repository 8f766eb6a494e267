import { followSignal, SpareSignal } from '../../../async/spare-signal.js';
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
  return followSignal(signal, own, (abort) => inDriverScope(scope, abort));
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

/** One for each driver: what it leaves listening to the signal of a question that it answered at once stays with it. */
const spares = new WeakMap<DriverScope, SpareSignal>();

/** As {@link inScopeWithSignal} for code that may know its answer at once, which is then returned at once. May throw. */
export function askWithSignal(
  scope: DriverScope,
  signal: AbortSignal,
  ask: (signal: AbortSignal) => boolean | Promise<boolean> | undefined,
): boolean | Promise<boolean | undefined> {
  if (signal.aborted) return inScopeWithSignal(scope, signal, ask);
  let spare = spares.get(scope);
  if (!spare) spares.set(scope, (spare = new SpareSignal()));
  const answer = spare.ask(
    (own) => inDriverScope(scope, () => ask(own)),
    (own) => follow(signal, own, scope),
  );
  return typeof answer === 'boolean' ? answer : Promise.resolve(answer);
}
