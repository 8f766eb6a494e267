import {
  COMPONENTS_ROOT,
  ensureDatabaseId,
  LEASE_SLOTS_ROOT,
  LEASE_TOKENS_ROOT,
  LEASES_ROOT,
  LEGACY_LAUNCHERS_ROOT,
  NODES_ROOT,
  REQUEST_LOCKS_ROOT,
  REQUESTS_ROOT,
  steadyNow,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import type { Context } from './context.js';

const ROOTS = [
  ...[NODES_ROOT, REQUESTS_ROOT, REQUEST_LOCKS_ROOT, COMPONENTS_ROOT, LEGACY_LAUNCHERS_ROOT],
  ...[LEASES_ROOT, LEASE_SLOTS_ROOT, LEASE_TOKENS_ROOT],
];

/**
 * Creates the directories of a launcher once there is a connection, and retries after a lost connection, so that a slow server
 * does not end a launcher that is starting.
 * @returns the id of the database, which is created with them
 * @throws the reason of the signal
 */
export function ensureRoots(zk: ZooKeeper, signal: AbortSignal): Promise<string> {
  return ensureDatabaseId(zk, signal, ROOTS);
}

/**
 * Reads which database a new session has, and creates what is missing: ZooKeeper may have lost its data. Then the database has another
 * id, which machines carry that are made from now on.
 */
export async function readDatabase({
  zk,
  life,
  clock,
  logger,
}: Pick<Context, 'zk' | 'life' | 'clock' | 'logger'>): Promise<void> {
  const before = life.databaseId;
  const databaseId = await ensureRoots(zk, life.signal);
  life.database = { id: databaseId, epoch: zk.sessionEpoch };
  if (before === undefined || before === databaseId) return;
  life.replaced = { sinceMs: clock.now(), steadyMs: steadyNow(clock), before };
  const text = 'ZooKeeper serves another database; machines of the former one stay until they are adopted';
  logger.warn(text, { databaseId, before });
}
