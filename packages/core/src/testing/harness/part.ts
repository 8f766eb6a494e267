import type { DriverCapabilities } from '../../contract/driver.js';
import type { Harness } from './harness.js';
import type { DriverContractOptions } from './types.js';

/** Environment of a contract test. */
export interface PartContext {
  /** New cloud and ZooKeeper of this test. */
  readonly harness: Harness;
  readonly options: DriverContractOptions;
  /** Opens another harness, for tests that repeat an experiment. Closed after the test. */
  open(): Promise<Harness>;
}

/** One rule of the contract. */
export interface PartTest {
  /** Predicate of a sentence; the subject is the driver. */
  readonly name: string;
  /** Whether the rule applies to drivers with these capabilities. Default: to all drivers. */
  applies?(capabilities: DriverCapabilities): boolean;
  run(context: PartContext): Promise<void>;
}

/** A part of the contract. */
export interface ContractPart {
  readonly name: string;
  /** Whether the part applies to drivers with these capabilities. Default: to all drivers. */
  applies?(capabilities: DriverCapabilities): boolean;
  /** Rules of this part. Some depend on the author's options. */
  tests(options: DriverContractOptions): readonly PartTest[];
}

/** Condition for parts that apply to drivers that launch nodes. */
export const launches = (capabilities: DriverCapabilities): boolean => capabilities.launches;
