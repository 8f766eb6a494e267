import type { Driver } from '../../contract/driver.js';

/** A driver and its package. */
export interface LoadedDriver {
  readonly driver: Driver;
  /** Name of the package, e.g. `@nodepool/driver-static`. */
  readonly packageName: string;
  readonly packageVersion: string;
  /** Folder of the package. */
  readonly path: string;
  /** Non-fatal problems of the package, one sentence each, with the remedy. */
  readonly warnings: readonly string[];
}

/** Drivers by name. Each is loaded at first use and kept for the life of the process. */
export interface DriverRegistry {
  /** @throws {DriverError} the driver cannot be used; the message states reason and remedy */
  get(name: string): Promise<Driver>;
  /** Resets the global state of every loaded driver. Called before each load of the configuration. */
  reset(): Promise<void>;
  /** Drivers loaded so far. */
  loaded(): readonly LoadedDriver[];
}
