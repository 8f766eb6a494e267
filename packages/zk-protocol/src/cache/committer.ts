import type { ZooKeeperErrorCode } from '../client/contract/errors.js';
import { isZooKeeperError, MultiError, ZooKeeperError } from '../client/contract/errors.js';
import type { Operation, OperationResult, ZooKeeper } from '../client/contract/types.js';
import type { CommitTarget, Committer, PendingCommit } from './types.js';

/** Makes a committer that sends each commit as one round trip and keeps the given caches up to date with it. */
export function createCommitter(zk: ZooKeeper, caches: readonly CommitTarget[]): Committer {
  return {
    async commit(operations) {
      if (operations.length === 0) return [];
      // What was decided on in one session must not be carried out in the next: its locks are gone.
      if (zk.state === 'LOST') {
        const what = `multi of ${operations.length} from ${operations[0]?.path ?? ''}`;
        throw new ZooKeeperError('ZK_SESSION_EXPIRED', `${what}: there is no session now; it has not taken effect`);
      }
      const pending: PendingCommit[] = [];
      for (const cache of caches) {
        const commit = cache.beginCommit(operations);
        if (commit !== undefined) pending.push(commit);
      }
      let results: OperationResult[];
      try {
        results = await send(zk, operations);
      } catch (error) {
        // A refusal is certain; with any other error the operations may have taken effect.
        const fateUnknown = !(error instanceof MultiError);
        for (const commit of pending) commit.abandon(fateUnknown);
        throw error;
      }
      for (const commit of pending) commit.apply(results);
      for (const commit of pending) commit.report();
      return results;
    },
  };
}

/** Not `async`, as each further promise on this way is paid for by every transaction. */
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

/** The server may have carried the operation out before the connection or session went away. */
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
