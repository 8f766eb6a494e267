export { CallTracker } from './call-tracker.js';
export { ProcessClock } from './harness/process-clock.js';
export type { WakeOrder } from './harness/process-clock.js';
export { Environment } from './environment.js';
export { Random } from './random.js';
export { VirtualClock } from './virtual-clock.js';
export { InvariantChecker } from './invariants/invariant-checker.js';
export { isBacking } from './invariants/entries.js';
export type { NodeEntry, RequestEntry } from './invariants/entries.js';
export { driverContract, testDriverContract } from './contract.js';
export type {
  CloudFailureKind,
  CloudResource,
  ContractCloud,
  DriverContractOptions,
  MachineEnd,
} from './harness/types.js';
export { Requestor } from './harness/requestor.js';
export { registryOf } from './harness/registry-of.js';
