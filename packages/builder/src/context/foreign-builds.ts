import {
  imageBuildLockPath,
  ZkLock,
  type BuildRecord,
  type Clock,
  type ImageEntry,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import type { Logger } from '@nodepool/core';

/** Context of {@link findForeignBuilds} and {@link waitForForeignBuilds}. */
export interface ForeignBuildSurroundings {
  readonly zk: ZooKeeper;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly builderId: string;
}

/**
 * Finds builds in progress by another process with the id of this builder, such as an original Nodepool builder on the same
 * images-dir. Builds of an earlier process of this builder do not count: their lock expired with the lock of the id.
 * @param isOwn - whether this process makes the build
 */
export async function findForeignBuilds(
  { zk, builderId }: Pick<ForeignBuildSurroundings, 'zk' | 'builderId'>,
  images: Iterable<ImageEntry>,
  isOwn: (buildId: string) => boolean = () => false,
): Promise<BuildRecord[]> {
  const found: BuildRecord[] = [];
  for (const { builds } of images) {
    for (const build of builds.values()) {
      const isOurs = build.state === 'building' && build.builderId === builderId && !isOwn(build.id);
      if (isOurs && (await isMadeElsewhere(zk, build))) found.push(build);
    }
  }
  return found;
}

/** A builder locks the image before it creates the record, so a record older than the lock belongs to a dead build. */
async function isMadeElsewhere(zk: ZooKeeper, { image, stat }: BuildRecord): Promise<boolean> {
  const holder = await ZkLock.lockHolder(zk, imageBuildLockPath(image));
  const lock = holder && (await zk.exists(holder.entryPath));
  return lock !== undefined && stat !== undefined && lock.czxid < stat.czxid && lock.ephemeralOwner !== zk.sessionId;
}

/**
 * Waits until the locks of these builds are free. The lock of a dead process is freed when its session expires.
 * @throws NODEPOOL_LOCK_TIMEOUT if a lock is still held after the time limit
 */
export async function waitForForeignBuilds(
  { zk, clock, logger }: ForeignBuildSurroundings,
  builds: readonly BuildRecord[],
  limit: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<void> {
  const wait = async ({ image, id: build, builder }: BuildRecord) => {
    logger.warn('Another builder builds with the id of this one; waiting for its end', { image, build, builder });
    const lock = new ZkLock(zk, imageBuildLockPath(image), { clock });
    await lock.acquire(limit);
    await lock.release();
  };
  await Promise.all(builds.map(wait));
}
