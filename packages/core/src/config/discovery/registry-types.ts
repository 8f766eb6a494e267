import type { Driver } from '../../contract/driver.js';

/** A driver and where it came from. */
export interface LoadedDriver {
  readonly driver: Driver;
  /** Name of the package, e.g. `@nodepool/driver-static`. */
  readonly packageName: string;
  readonly packageVersion: string;
  /** Folder of the package. */
  readonly path: string;
  /** What is wrong with the package although it can be used, one sentence each, with what to do. */
  readonly warnings: readonly string[];
}

/** Drivers by name. Each is loaded at first use and kept for the life of the process. */
export interface DriverRegistry {
  /** @throws {DriverError} it cannot be used; the message says why and what to do */
  get(name: string): Promise<Driver>;
  /** Lets every loaded driver drop its global state; called before each load of the configuration. */
  reset(): Promise<void>;
  /** What has been loaded so far. */
  loaded(): readonly LoadedDriver[];
}
