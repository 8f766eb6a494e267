import { NodepoolError } from '../base/errors.js';

/** Thrown when a lock was not obtained within the time given. The own entry is taken out of the queue. */
export class LockTimeoutError extends NodepoolError {
  readonly root: string;

  constructor(root: string, timeoutMs: number) {
    super('NODEPOOL_LOCK_TIMEOUT', `could not lock ${root} within ${timeoutMs} ms: another process holds it`);
    this.root = root;
  }
}

/** Reason of a lock's `lost` signal: stop what the lock protects and write nothing more. */
export class LockLostError extends NodepoolError {
  readonly root: string;

  constructor(root: string, why: string) {
    super('NODEPOOL_LOCK_LOST', `the lock ${root} may be held by another process now: ${why}`);
    this.root = root;
  }
}
