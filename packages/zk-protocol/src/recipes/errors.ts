import { NodepoolError } from '../base/errors.js';

/** Thrown when a lock was not acquired in time. The own entry has been removed from the queue. */
export class LockTimeoutError extends NodepoolError {
  readonly root: string;

  constructor(root: string, timeoutMs: number) {
    super('NODEPOOL_LOCK_TIMEOUT', `could not lock ${root} within ${timeoutMs} ms: another process holds it`);
    this.root = root;
  }
}

/** Reason of a lock's `lost` signal: stop the protected work and write nothing more. */
export class LockLostError extends NodepoolError {
  readonly root: string;

  constructor(root: string, why: string) {
    super('NODEPOOL_LOCK_LOST', `another process may hold the lock ${root} now: ${why}`);
    this.root = root;
  }
}
