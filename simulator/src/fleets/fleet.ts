import type { Driver } from '@nodepool/core';
import type { InvariantChecker } from '@nodepool/core/testing';
import type { JsonObject } from '@nodepool/zk-protocol';
import type { ConfigSpec } from './config.js';

/** One configured provider of the simulation, whatever its driver. */
export interface Fleet {
  readonly name: string;
  readonly driver: Driver;
  /** Its entry in the configuration as it is now. */
  entry(): JsonObject;
  /** Changes the configuration at random. @returns what was changed */
  change(): string;
  /** What is not as it has to be when nothing is asked for any more; empty when all is well. */
  unsettled(checker: InvariantChecker): string[];
  /** Labels it can serve when nothing is in use but what a metastatic provider holds. */
  offers(checker: InvariantChecker): ConfigSpec['labels'];
  /** Faults end: whatever it simulates answers from now on. */
  calm?(): void;
  /** Something goes wrong outside of ZooKeeper. */
  strike?(): void;
}
