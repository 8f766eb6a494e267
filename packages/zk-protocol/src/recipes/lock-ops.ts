import { isZooKeeperError, MultiError } from '../client/contract/errors.js';
import type { Operation } from '../client/contract/types.js';
import { newLockEntryPrefix } from './lock-entries.js';

/** Known state of a lock directory, and settings of the entry. */
export interface LockOpsOptions {
  /** Whether a cache shows the directory; `undefined` counts as false. A wrong value only makes the multi fail. */
  readonly directoryExists: boolean | undefined;
  /** Identifies the holder to people and other programs. @default '' */
  readonly identifier?: string | undefined;
  /** False makes a lock that outlives the session. @default true */
  readonly ephemeral?: boolean | undefined;
}

/** Operations of a multi that acquire a lock. */
export interface LockOps {
  readonly ops: readonly Operation[];
  /** Index in `ops` of the create that returns the path of the lock entry. */
  readonly entryIndex: number;
}

/**
 * Operations that acquire a lock as part of a multi, and prove without listing that there is no other contender: they
 * create the lock directory. An existing one is deleted first, which ZooKeeper rejects while it has entries. So if the
 * multi succeeds, the entry is the only one. Other processes see an ordinary lock. All parents of `root` must exist.
 * @param root - the lock directory
 */
export function lockOps(root: string, options: LockOpsOptions): LockOps {
  const { directoryExists, identifier = '', ephemeral = true } = options;
  const ops: Operation[] = [];
  if (directoryExists === true) ops.push({ op: 'delete', path: root });
  ops.push({ op: 'create', path: root });
  ops.push({
    op: 'create',
    path: `${root}/${newLockEntryPrefix()}`,
    data: identifier,
    ephemeral,
    sequential: true,
  });
  return { ops, entryIndex: ops.length - 1 };
}

/** Operations that release a lock. Put them at the end of the multi that stores the protected changes. */
export function unlockOps(entryPath: string): Operation[] {
  return [{ op: 'delete', path: entryPath }];
}

/** Why a multi with {@link lockOps} failed. */
export type LockFailure =
  /** Another process contends for the lock. */
  | 'contended'
  /** The cached state of the lock directory was outdated; there may be no contender. Read it again. */
  | 'stale'
  /** The parent of the lock directory, such as the record to lock, does not exist. */
  | 'gone';

/**
 * Why a failed multi did not acquire a lock.
 * @param operations - all operations of the multi
 * @param root - the lock directory
 * @returns `undefined` if the failure does not concern this lock
 */
export function lockFailure(error: unknown, operations: readonly Operation[], root: string): LockFailure | undefined {
  if (!isZooKeeperError(error)) return undefined;
  const failed = operations[error instanceof MultiError ? error.failedIndex : 0];
  if (failed === undefined || failed.op === 'set' || failed.op === 'check') return undefined;
  if (failed.path !== root && !failed.path.startsWith(`${root}/`)) return undefined;
  if (error.code === 'ZK_NOT_EMPTY') return 'contended';
  if (error.code === 'ZK_NODE_EXISTS') return 'stale';
  if (error.code !== 'ZK_NO_NODE') return undefined;
  return failed.op === 'delete' ? 'stale' : 'gone';
}
