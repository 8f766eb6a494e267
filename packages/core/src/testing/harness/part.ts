import type { DriverCapabilities } from '../../contract/driver.js';
import type { Harness } from './harness.js';
import type { DriverContractOptions } from './types.js';

/** What a test of the kit works with. */
export interface PartContext {
  /** A new cloud and ZooKeeper for this test. */
  readonly harness: Harness;
  readonly options: DriverContractOptions;
  /** Further ones, for tests that begin again and again. Ended with the test. */
  open(): Promise<Harness>;
}

/** One rule of the contract. */
export interface PartTest {
  /** A sentence without its subject, which is the driver. */
  readonly name: string;
  /** Whether it applies to drivers that can do these things. Default: to all. */
  applies?(capabilities: DriverCapabilities): boolean;
  run(context: PartContext): Promise<void>;
}

/** A part of the contract. */
export interface ContractPart {
  readonly name: string;
  /** Whether the part applies to drivers that can do these things. Default: to all. */
  applies?(capabilities: DriverCapabilities): boolean;
  /** The rules; some follow from what the author gave. */
  tests(options: DriverContractOptions): readonly PartTest[];
}

/** Parts of drivers that make nodes on request. */
export const launches = (capabilities: DriverCapabilities): boolean => capabilities.launches;
