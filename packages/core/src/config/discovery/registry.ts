import { systemClock } from '@nodepool/zk-protocol';
import type { Driver } from '../../contract/driver.js';
import { DriverError } from '../../contract/errors.js';
import { withTimeLimit } from '../../async/time-limit.js';
import { type DiscoverOptions, discoverDriver } from './discover-driver.js';
import type { DriverRegistry, LoadedDriver } from './registry-types.js';

/** Sources of drivers. */
export interface DriverRegistryOptions extends DiscoverOptions {
  /** Drivers that take precedence over packages. */
  drivers?: readonly Driver[] | undefined;
}

/** Creates a registry that finds and loads drivers on first use. Failures are not cached. */
export function createDriverRegistry(options: DriverRegistryOptions): DriverRegistry {
  return new DiscoveringRegistry(options);
}

/** Timeout for the reset of a driver, which only clears memory. */
const RESET_LIMIT_MS = 15_000;

class DiscoveringRegistry implements DriverRegistry {
  readonly #loaded = new Map<string, LoadedDriver>();
  readonly #loading = new Map<string, Promise<LoadedDriver>>();
  readonly #given: ReadonlyMap<string, Driver>;

  constructor(private readonly options: DriverRegistryOptions) {
    this.#given = new Map(options.drivers?.map((driver) => [driver.name, driver]));
  }

  async get(name: string): Promise<Driver> {
    const given = this.#given.get(name) ?? this.#loaded.get(name)?.driver;
    if (given !== undefined) return given;
    let loading = this.#loading.get(name);
    if (loading === undefined) {
      loading = discoverDriver(name, this.options).finally(() => this.#loading.delete(name));
      this.#loading.set(name, loading);
    }
    const found = await loading;
    this.#loaded.set(name, found);
    return found.driver;
  }

  async reset(): Promise<void> {
    const drivers = new Set([...this.#given.values(), ...this.loaded().map(({ driver }) => driver)]);
    const { clock = systemClock } = this.options;
    for (const driver of drivers) {
      try {
        const reset: unknown = driver.reset?.();
        if (reset instanceof Promise) await withTimeLimit(clock, RESET_LIMIT_MS, 'its reset', reset);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new DriverError(driver.name, `driver "${driver.name}" cannot drop its state: ${reason}`, {
          cause: error,
        });
      }
    }
  }

  loaded(): readonly LoadedDriver[] {
    return [...this.#loaded.values()];
  }
}
