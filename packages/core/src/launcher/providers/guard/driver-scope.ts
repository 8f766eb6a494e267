import { AsyncLocalStorage } from 'node:async_hooks';
import { steadyNow, type Clock } from '@nodepool/zk-protocol';
import type { Provider } from '../../../contract/driver.js';
import type { Logger } from '../../../contract/logger.js';

/** Each method's contract violations are logged once in this time, as a driver may be called many times a second. */
const LOG_INTERVAL_MS = 60_000;

const storage = new AsyncLocalStorage<DriverScope | undefined>();

/** An error outside of any call: an unhandled rejection, or an exception thrown by a timer or an event listener. */
export type FaultKind = 'unhandled rejection' | 'uncaught exception';

/** What restarts providers. */
export interface Faults {
  /**
   * A driver made an error outside of any call.
   * @param provider - the instance, as a restart replaces it under the same name
   */
  driverFaulted(provider: Pick<Provider, 'config'>, kind: FaultKind, error: unknown): void;
}

/** What a scope uses. */
export interface ScopeOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly faults: Faults;
}

/**
 * Runs the code of one provider's driver. The scope covers all timers, sockets and promises that the code starts, so errors
 * outside of any call can be attributed to the provider.
 */
export class DriverScope {
  readonly provider: string;
  readonly driver: string;
  readonly #provider: Pick<Provider, 'config'>;
  readonly #options: ScopeOptions;
  readonly #loggedMs = new Map<string, number>();

  constructor(provider: Pick<Provider, 'config'>, options: ScopeOptions) {
    this.provider = provider.config.name;
    this.driver = provider.config.driverName;
    this.#provider = provider;
    this.#options = options;
  }

  /** Runs a driver's code inside the scope. */
  run<T>(code: () => T): T {
    return storage.run(this, code);
  }

  /** Calls a method of the driver. @returns the `safe` answer if it throws, or answers with something that is no answer */
  ask<T>(method: string, safe: T, call: () => T, isAnswer: (answer: unknown) => boolean = () => true): T {
    try {
      const answer: unknown = this.run(call);
      if (isAnswer(answer)) return answer as T;
      this.logViolation(method, new TypeError(`${method} returned ${describe(answer)}`));
    } catch (error) {
      this.logViolation(method, error);
    }
    return safe;
  }

  /** Logs that the driver broke its contract. */
  logViolation(method: string, error: unknown): void {
    const { clock, logger } = this.#options;
    const now = steadyNow(clock);
    const logged = this.#loggedMs.get(method);
    if (logged !== undefined && now - logged < LOG_INTERVAL_MS) return;
    this.#loggedMs.set(method, now);
    logger.error('The driver broke its contract; continuing without its answer', { method, error });
  }

  /** Reports an error outside of any call to the launcher. Never throws. */
  fault(kind: FaultKind, error: unknown): void {
    outOfDriverScope(() => this.#options.faults.driverFaulted(this.#provider, kind, error));
  }
}

/**
 * The scope of the running code; `undefined` for the launcher's own code. For handlers of uncaught errors, which run in the
 * scope of the code that threw.
 */
export function currentDriverScope(): DriverScope | undefined {
  return storage.getStore();
}

/** Runs the launcher's own code, called by a driver, outside of the driver's scope. */
export function outOfDriverScope<T>(run: () => T): T {
  return storage.run(undefined, run);
}

function describe(value: unknown): string {
  if (value instanceof Promise) return 'a promise, expected the answer itself';
  if (value === null || typeof value !== 'object') return String(value);
  return `an object of class ${value.constructor?.name ?? 'unknown'}`;
}
