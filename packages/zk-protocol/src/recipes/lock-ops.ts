import { isZooKeeperError, MultiError } from '../client/contract/errors.js';
import type { Operation } from '../client/contract/types.js';
import { newLockEntryPrefix } from './lock-entries.js';

/** What is known about a lock directory, and what the entry should be like. */
export interface LockOpsOptions {
  /** As a cache sees it; `undefined`, not known, is treated as absent. A wrong belief makes the multi fail, no worse. */
  readonly directoryExists: boolean | undefined;
  /** Who locks, for people and for protocols that look at it. @default '' */
  readonly identifier?: string | undefined;
  /** `false`: the lock outlives the session. @default true */
  readonly ephemeral?: boolean | undefined;
}

/** Parts of a multi that take a lock. */
export interface LockOps {
  readonly ops: readonly Operation[];
  /** Index, within `ops`, of the create whose result carries the path of the lock entry. */
  readonly entryIndex: number;
}

/**
 * Operations that take a lock as part of a multi and prove that no other process contends for it, without listing it:
 * they make the lock directory, and an existing one is deleted first, which ZooKeeper refuses while it has entries. So
 * the entry is the only one when the multi succeeds. Everybody else sees an ordinary lock. All parents of `root` must
 * exist.
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

/** Operations that give a lock back: put them at the end of the multi that stores what was done under it. */
export function unlockOps(entryPath: string): Operation[] {
  return [{ op: 'delete', path: entryPath }];
}

/** Why the parts of {@link lockOps} made a multi fail. */
export type LockFailure =
  /** Another process contends for the lock. */
  | 'contended'
  /** The lock directory was not as believed; it says nothing about contenders. Look again. */
  | 'stale'
  /** What should be locked, or the parent of the lock directory, is not there. */
  | 'gone';

/**
 * Tells what a failed multi says about a lock.
 * @param operations - everything that was in the multi
 * @param root - the lock directory
 * @returns `undefined` when the failure is not about this lock
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

/**
 * Whether a multi failed because a lock that it tried to take was not free or not as believed, so that others may hold it.
 * False for every other failure, e.g. a version that does not match.
 */
export function isLockContention(error: unknown, operations: readonly Operation[]): boolean {
  if (!isZooKeeperError(error, 'ZK_NOT_EMPTY', 'ZK_NODE_EXISTS', 'ZK_NO_NODE')) return false;
  const failed = operations[error instanceof MultiError ? error.failedIndex : 0];
  if (failed === undefined) return false;
  return operations.some(
    (operation) =>
      operation.op === 'create' &&
      operation.path.endsWith('__lock__') &&
      lockFailure(error, operations, operation.path.slice(0, operation.path.lastIndexOf('/'))) !== undefined,
  );
}
