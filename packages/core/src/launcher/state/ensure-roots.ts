import {
  COMPONENTS_ROOT,
  ensureDatabaseId,
  LEGACY_LAUNCHERS_ROOT,
  NODES_ROOT,
  REQUEST_LOCKS_ROOT,
  REQUESTS_ROOT,
  type ZooKeeper,
} from '@nodepool/zk-protocol';

const ROOTS = [NODES_ROOT, REQUESTS_ROOT, REQUEST_LOCKS_ROOT, COMPONENTS_ROOT, LEGACY_LAUNCHERS_ROOT];

/**
 * Makes the directories of a launcher, as soon as there is a connection, and again when it breaks meanwhile: a server that is
 * slow for a moment does not end a launcher that starts.
 * @returns the id of the database, which is made with them
 * @throws the reason of the signal
 */
export function ensureRoots(zk: ZooKeeper, signal: AbortSignal): Promise<string> {
  return ensureDatabaseId(zk, signal, ROOTS);
}
