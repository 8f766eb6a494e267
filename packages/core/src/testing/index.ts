export { CallTracker } from './call-tracker.js';
export { ProcessClock } from './harness/process-clock.js';
export { Environment } from './environment.js';
export { Random } from './random.js';
export { VirtualClock } from './virtual-clock.js';
export type { VirtualClockOptions } from './virtual-clock.js';
export { InvariantChecker } from './invariants/invariant-checker.js';
export type { ComponentWatcher, FailureWatcher, NodeWatcher } from './invariants/invariant-checker.js';
export { isBacking } from './invariants/entries.js';
export type { NodeEntry, RequestEntry } from './invariants/entries.js';
export { driverContract, testDriverContract } from './contract.js';
export type {
  CloudFailureKind,
  CloudLogin,
  CloudResource,
  ContractCloud,
  ContractTest,
  DriverContractOptions,
  Entry,
  TestRunner,
} from './harness/types.js';
export type { HeldNode } from './harness/requestor.js';
export { Requestor } from './harness/requestor.js';
export { registryOf } from './harness/registry-of.js';
