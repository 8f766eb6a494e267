import {
  isZooKeeperError,
  lockOps,
  type Committer,
  type MultiError,
  type NodeRecord,
  type Operation,
  type OperationResult,
} from '@nodepool/zk-protocol';
import { encodeNode, NODE_CREATE_PATH, nodeLockPath, nodePath, type NodeId } from '@nodepool/zk-protocol';
import type { Context } from './context.js';

/**
 * Operations of one transaction, each with its owner, so that a refusal shows which node or request was locked, changed or
 * gone.
 */
export class Transaction<Owner> {
  readonly operations: Operation[] = [];
  readonly #owners: Owner[] = [];

  /** @returns the index of the first added operation among the results */
  add(owner: Owner, ...operations: readonly Operation[]): number {
    const index = this.operations.length;
    for (const operation of operations) {
      this.operations.push(operation);
      this.#owners.push(owner);
    }
    return index;
  }

  /**
   * Adds the operations that lock a directory without listing it (ADR 0003).
   * @returns index of the result that names the lock entry
   */
  lock(owner: Owner, root: string, directoryExists: boolean): number {
    const { ops, entryIndex } = lockOps(root, { directoryExists });
    return this.add(owner, ...ops) + entryIndex;
  }

  /** @throws {Refusal} ZooKeeper refused the transaction; other errors pass through */
  async commit(committer: Committer): Promise<OperationResult[]> {
    try {
      return await committer.commit(this.operations);
    } catch (error) {
      if (!isMultiError(error)) throw error;
      const operation = this.operations[error.failedIndex];
      const owner = this.#owners[error.failedIndex];
      if (operation === undefined || owner === undefined) throw error;
      throw new Refusal(owner, operation, error);
    }
  }
}

/** Why a transaction was refused. */
export type RefusalKind = 'locked' | 'directory-missing' | 'directory-exists' | 'changed' | 'gone' | 'other';

/** Thrown when a transaction was refused because of one of its operations; no operation took effect. */
export class Refusal<Owner> extends Error {
  readonly kind: RefusalKind;

  constructor(
    readonly owner: Owner,
    readonly operation: Operation,
    override readonly cause: MultiError,
  ) {
    super(cause.message, { cause });
    this.name = 'Refusal';
    this.kind = kindOf(operation, cause);
  }
}

/** True for a {@link Refusal} about owners of the given type. */
export function isRefusal<Owner>(error: unknown): error is Refusal<Owner> {
  return error instanceof Refusal;
}

function kindOf(operation: Operation, error: MultiError): RefusalKind {
  switch (error.code) {
    case 'ZK_NOT_EMPTY':
      return 'locked';
    case 'ZK_NODE_EXISTS':
      return 'directory-exists';
    case 'ZK_BAD_VERSION':
      return 'changed';
    case 'ZK_NO_NODE':
      return operation.op === 'delete' && operation.version === undefined ? 'directory-missing' : 'gone';
    default:
      return 'other';
  }
}

function isMultiError(error: unknown): error is MultiError {
  return isZooKeeperError(error) && 'failedIndex' in error;
}

/** Writes a node's record, unless another process has written it since it was read. */
export function setNode(node: NodeRecord): Operation {
  return { op: 'set', path: nodePath(node.id), data: encodeNode(node), version: node.stat?.version ?? -1 };
}

/** Removes an empty lock directory; refused while a process holds or waits for the lock. */
export function removeLockDirectory(node: NodeRecord): Operation {
  return { op: 'delete', path: nodeLockPath(node.id) };
}

/**
 * Operations that are refused while any process holds or waits for a lock, and that leave its directory as it was: another
 * process may be about to create an entry in it.
 */
export function proveUnlocked(root: string, directoryExists: boolean): Operation[] {
  const remove: Operation = { op: 'delete', path: root };
  const make: Operation = { op: 'create', path: root };
  return directoryExists ? [remove, make] : [make, remove];
}

/**
 * As {@link proveUnlocked}, for a node. The record's version alone proves nothing: Zuul, the command line and launchers in
 * Python lock a node first and write it later, and a record may be known before the lock of the same transaction is.
 */
export function proveNodeUnlocked({ mirror }: Context, { id }: NodeRecord): Operation[] {
  return proveUnlocked(nodeLockPath(id), mirror.nodes.hasLockDirectory(id));
}

/** Path of the lock entry that a transaction created. */
export function createdPath(results: readonly OperationResult[], index: number): string {
  const result = results[index];
  if (result?.op !== 'create') throw new Error(`operation ${index} of the transaction is not a create`);
  return result.path;
}

/** The node whose record a transaction created. @param path - of the record */
export function nodeIdOf(path: string): NodeId {
  return path.slice(NODE_CREATE_PATH.length) as NodeId;
}
