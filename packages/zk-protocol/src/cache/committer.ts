import type { ZooKeeperErrorCode } from '../client/contract/errors.js';
import { isZooKeeperError, MultiError, ZooKeeperError } from '../client/contract/errors.js';
import type { Operation, OperationResult, ZooKeeper } from '../client/contract/types.js';
import type { CommitTarget, Committer, PendingCommit } from './types.js';

/** Creates a committer that sends each commit in one round trip and applies its results to the caches, also to those that are added to the array later. */
export function createCommitter(zk: ZooKeeper, caches: readonly CommitTarget[]): Committer {
  return {
    async commit(operations) {
      if (operations.length === 0) return [];
      // A decision made in one session must not take effect in the next, which does not hold its locks.
      if (zk.state === 'LOST') {
        const what = `multi of ${operations.length} from ${operations[0]?.path ?? ''}`;
        throw new ZooKeeperError('ZK_SESSION_EXPIRED', `${what}: the session has expired; no operation took effect`);
      }
      const pending: PendingCommit[] = [];
      for (const cache of caches) {
        const commit = cache.beginCommit(operations);
        if (commit !== undefined) pending.push(commit);
      }
      let results: OperationResult[] | undefined;
      while (!results) {
        try {
          results = await send(zk, operations);
        } catch (error) {
          if (await passesTaken(zk, operations, error)) continue;
          // Only a MultiError proves that no operation took effect.
          const fateUnknown = !(error instanceof MultiError);
          for (const commit of pending) commit.abandon(fateUnknown);
          throw error;
        }
      }
      for (const commit of pending) commit.apply(results);
      for (const commit of pending) commit.report();
      return results;
    },
  };
}

/**
 * A database that has lost its data counts from 0 again, and a client that locks an entry of before makes it by its number: once the
 * count of the directory comes there, no entry can be made in it.
 * @returns whether such a number was the cause, and is passed over in the same session
 */
async function passesTaken(zk: ZooKeeper, operations: readonly Operation[], cause: unknown): Promise<boolean> {
  const failed = cause instanceof MultiError && cause.code === 'ZK_NODE_EXISTS' && operations[cause.failedIndex];
  if (!failed || failed.op !== 'create' || failed.sequential !== true) return false;
  const epoch = zk.sessionEpoch;
  const path = `${failed.path}taken`;
  try {
    await zk.multi([
      { op: 'create', path },
      { op: 'delete', path, version: 0 },
    ]);
    return zk.sessionEpoch === epoch;
  } catch (error) {
    if (!isZooKeeperError(error)) throw error;
    return false;
  }
}

/** Not `async`: every transaction would pay for the extra promise. */
function send(zk: ZooKeeper, operations: readonly Operation[]): Promise<OperationResult[]> {
  const [only] = operations;
  return only === undefined || operations.length > 1 || only.op === 'check'
    ? zk.multi(operations)
    : sendSingle(zk, only);
}

async function sendSingle(zk: ZooKeeper, only: Exclude<Operation, { op: 'check' }>): Promise<OperationResult[]> {
  try {
    return [await sendOne(zk, only)];
  } catch (error) {
    if (!isZooKeeperError(error) || error.serverCode === undefined || FATE_UNKNOWN.has(error.code)) throw error;
    const { path, serverCode } = error;
    throw new MultiError(error.code, error.message, { path, serverCode, failedIndex: 0 });
  }
}

/** With these errors the server may have executed the operation. */
const FATE_UNKNOWN: ReadonlySet<ZooKeeperErrorCode> = new Set<ZooKeeperErrorCode>([
  'ZK_CONNECTION_LOSS',
  'ZK_SESSION_EXPIRED',
  'ZK_SESSION_MOVED',
  'ZK_CLOSED',
]);

async function sendOne(zk: ZooKeeper, operation: Exclude<Operation, { op: 'check' }>): Promise<OperationResult> {
  switch (operation.op) {
    case 'create': {
      const { path, data, ephemeral, sequential, acl } = operation;
      const options = { ephemeral, sequential, acl };
      return { op: 'create', ...(await zk.create2(path, data, options)) };
    }
    case 'set':
      return { op: 'set', stat: await zk.setData(operation.path, operation.data, operation.version) };
    case 'delete':
      await zk.delete(operation.path, operation.version);
      return { op: 'delete' };
  }
}
