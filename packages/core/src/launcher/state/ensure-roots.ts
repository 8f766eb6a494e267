import {
  AGREED_TIME_PATH,
  COMPONENTS_ROOT,
  ensureDatabaseId,
  LEGACY_LAUNCHERS_ROOT,
  NODES_ROOT,
  REQUEST_LOCKS_ROOT,
  REQUESTS_ROOT,
  steadyNow,
} from '@nodepool/zk-protocol';
import type { Context } from './context.js';
import type { Part } from './part.js';

const ROOTS = [
  ...[NODES_ROOT, REQUESTS_ROOT, REQUEST_LOCKS_ROOT],
  ...[COMPONENTS_ROOT, LEGACY_LAUNCHERS_ROOT, AGREED_TIME_PATH],
];

/**
 * Reads which database a new session has, and creates the directories of the launcher and its parts that are missing: ZooKeeper may have
 * lost its data. Then the database has another id, which machines carry that are made from now on. Retries after a lost connection, so
 * that a slow server does not end a launcher that is starting.
 * @throws when the launcher stops
 */
export async function readDatabase(
  { zk, life, clock, logger }: Pick<Context, 'zk' | 'life' | 'clock' | 'logger'>,
  parts: readonly Part[],
): Promise<void> {
  const before = life.databaseId;
  const directories = new Set([...ROOTS, ...parts.flatMap((part) => part.directories ?? [])]);
  const databaseId = await ensureDatabaseId(zk, life.signal, [...directories]);
  life.database = { id: databaseId, epoch: zk.sessionEpoch };
  if (before === undefined || before === databaseId) return;
  life.replaced = { sinceMs: clock.now(), steadyMs: steadyNow(clock), before };
  const text = 'ZooKeeper serves another database; machines of the former one stay until they are adopted';
  logger.warn(text, { databaseId, before });
}
