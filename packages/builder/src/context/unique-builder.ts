import { ZkLock, type Clock, type ZooKeeper } from '@nodepool/zk-protocol';
import { ConfigError, type Logger } from '@nodepool/core';

/** Where builders of this program say which ids are in use; others do not look here. */
const ROOT = '/nodepool/builder-ids';
/** A builder that was killed holds its id until its session ends. */
const PATIENCE_MS = 40_000;

/** What {@link holdBuilderId} works with. */
export interface BuilderIdSurroundings {
  readonly zk: ZooKeeper;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly hostname: string;
  readonly builderId: string;
  readonly imagesDir: string;
}

/**
 * Makes sure that no other builder has this id: two on one directory would delete each other's files.
 * @throws ConfigError naming the other builder, when it is still there after a while
 */
export async function holdBuilderId(surroundings: BuilderIdSurroundings): Promise<ZkLock> {
  const { zk, clock, logger, hostname, builderId, imagesDir } = surroundings;
  const root = `${ROOT}/${encodeURIComponent(builderId)}`;
  const lock = new ZkLock(zk, root, { clock, identifier: `${hostname} (process ${process.pid})` });
  if (await lock.acquire({ blocking: false })) return lock;
  const holder = (await ZkLock.lockHolder(zk, root))?.identifier ?? 'unknown';
  logger.warn('Another builder has this id; waiting for its end', { builder: builderId, holder });
  try {
    await lock.acquire({ timeoutMs: PATIENCE_MS });
    return lock;
  } catch (error) {
    throw new ConfigError(
      `a builder with the same id runs: ${holder}. It uses images-dir "${imagesDir}" too, or a copy of its ` +
        'builder_id.txt: stop one of them, or give it a directory of its own (and delete the copied builder_id.txt)',
      [],
      { cause: error },
    );
  }
}
