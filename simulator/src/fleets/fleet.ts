import type { Driver } from '@nodepool/core';
import type { InvariantChecker } from '@nodepool/core/testing';
import type { JsonObject } from '@nodepool/zk-protocol';
import type { ConfigSpec } from './config.js';

/** One configured provider of the simulation, whatever its driver. */
export interface Fleet {
  readonly name: string;
  readonly driver: Driver;
  /** Its current entry in the configuration. */
  entry(): JsonObject;
  /** Changes the configuration at random. @returns a description of the change */
  change(): string;
  /** Differences from the expected state when no request is open; empty if there are none. */
  unsettled(checker: InvariantChecker): string[];
  /** Labels that it can serve when only metastatic providers hold nodes. */
  offers(checker: InvariantChecker): ConfigSpec['labels'];
  /** Ends the faults of what it simulates. */
  calm?(): void;
  /** Causes a fault outside of ZooKeeper. */
  strike?(): void;
  /** Calls of its cloud take effect late for a while. */
  beLate?(): void;
  /** Its cloud makes no instances of one label for a while. */
  breakLabel?(): void;
  /** Sets `max-concurrency` to 0. @returns sets it back */
  close?(): () => void;
}
