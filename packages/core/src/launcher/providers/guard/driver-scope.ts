import { AsyncLocalStorage } from 'node:async_hooks';
import type { Provider } from '../../../contract/driver.js';
import type { FaultKind, LauncherEvents } from '../../events.js';

/** On whose behalf code runs, however many timers, sockets and promises lie between it and its first call. */
export class DriverScope {
  readonly provider: string;
  readonly driver: string;
  readonly #provider: Pick<Provider, 'config'>;
  readonly #events: LauncherEvents;

  constructor(provider: Pick<Provider, 'config'>, events: LauncherEvents) {
    this.provider = provider.config.name;
    this.driver = provider.config.driverName;
    this.#provider = provider;
    this.#events = events;
  }

  /** Tells the launcher of an error that no call returned. Never throws. */
  fault(kind: FaultKind, error: unknown): void {
    outOfDriverScope(() => this.#events.emit('driverFaulted', { provider: this.#provider, kind, error }));
  }
}

const storage = new AsyncLocalStorage<DriverScope | undefined>();

/**
 * The provider whose driver the running code belongs to; `undefined` for the launcher's own. For handlers of uncaught errors,
 * which run in the scope of what threw.
 */
export function currentDriverScope(): DriverScope | undefined {
  return storage.getStore();
}

/** Runs a driver's code. Whatever it begins belongs to the scope. */
export function inDriverScope<T>(scope: DriverScope, run: () => T): T {
  return storage.run(scope, run);
}

/** Runs the launcher's own code although a driver has called it. */
export function outOfDriverScope<T>(run: () => T): T {
  return storage.run(undefined, run);
}
