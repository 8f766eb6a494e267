import type { DriverRegistry } from '../../config/discovery/registry-types.js';
import type { Driver } from '../../contract/driver.js';
import { DriverError } from '../../contract/errors.js';

/** Registry of the given drivers, for tests. `get` rejects with a {@link DriverError} for any other driver. */
export function registryOf(...drivers: readonly Driver[]): DriverRegistry {
  return {
    get(name) {
      const driver = drivers.find((candidate) => candidate.name === name);
      if (driver) return Promise.resolve(driver);
      return Promise.reject(
        new DriverError(name, `driver "${name}" is not part of this test: name it in "otherDrivers"`),
      );
    },
    reset: async () => {
      for (const driver of drivers) await driver.reset?.();
    },
    loaded: () => [],
  };
}
