import { encodeNode, isZooKeeperError, nodePath, withNode, type NodeRecord } from '@nodepool/zk-protocol';
import { LockLostError } from '../../contract/errors.js';
import type { Context } from './context.js';

/**
 * Stores changed fields of a node whose lock this process holds. After a lost connection it repeats the write, unless that has
 * taken effect: as long as the session lives, so does the lock.
 * @throws {LockLostError} the session ended, the record is gone, or another process wrote it
 */
export async function storeNode(
  context: Context,
  node: NodeRecord,
  changes: Partial<NodeRecord>,
  signal: AbortSignal,
): Promise<NodeRecord> {
  const { zk, committer, mirror, clock } = context;
  const epoch = zk.sessionEpoch;
  const next = withNode(node, changes, clock.now(), 'launcher');
  const data = encodeNode(next);
  const path = nodePath(node.id);
  for (;;) {
    try {
      signal.throwIfAborted();
      const [result] = await committer.commit([{ op: 'set', path, data, version: node.stat?.version ?? -1 }]);
      const stat = result?.op === 'set' ? result.stat : undefined;
      return newerOf({ ...next, stat }, mirror.nodes.get(node.id));
    } catch (error) {
      if (isZooKeeperError(error, 'ZK_CONNECTION_LOSS')) {
        const stored = await readAgain(context, node, epoch, signal);
        if (stored.data.equals(data)) return { ...next, stat: stored.stat };
        if (stored.stat.version === node.stat?.version) continue;
      }
      if (signal.aborted) throw signal.reason;
      throw lockLost(node, 'another process wrote or removed it', error);
    }
  }
}

/** Reads the record once there is a connection. @throws {LockLostError} the session ended, or the record is gone */
async function readAgain({ zk }: Context, node: NodeRecord, epoch: number, signal: AbortSignal) {
  for (;;) {
    await zk.whenConnected(signal);
    if (zk.sessionEpoch !== epoch) throw lockLost(node, 'the session ended');
    try {
      return await zk.getData(nodePath(node.id));
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_CONNECTION_LOSS')) throw lockLost(node, 'its record cannot be read', error);
    }
  }
}

function lockLost(node: NodeRecord, why: string, cause?: unknown): LockLostError {
  return new LockLostError(`node ${node.id}: could not store it, ${why}`, { cause });
}

/** The newer of the written record and the mirror's, which may be behind after a lost connection. */
export function newerOf(written: NodeRecord, shown: NodeRecord | undefined): NodeRecord {
  return shown && (shown.stat?.mzxid ?? 0n) >= (written.stat?.mzxid ?? 0n) ? shown : written;
}
