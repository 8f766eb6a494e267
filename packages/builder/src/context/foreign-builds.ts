import {
  imageBuildLockPath,
  ZkLock,
  type BuildRecord,
  type Clock,
  type ImageEntry,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import type { Logger } from '@nodepool/core';

/** What {@link findForeignBuilds} and {@link waitForForeignBuilds} work with. */
export interface ForeignBuildSurroundings {
  readonly zk: ZooKeeper;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly builderId: string;
}

/**
 * Builds in progress with the id of this builder that another process makes, such as a builder of the original on the same
 * images-dir. A build of a former process of this builder is none: one session had its lock and the lock on the id.
 * @param isOwn - this process makes the build with this id
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

/** Whoever builds locks the image first: a record that is older than the lock is of a build that has died. */
async function isMadeElsewhere(zk: ZooKeeper, { image, stat }: BuildRecord): Promise<boolean> {
  const holder = await ZkLock.lockHolder(zk, imageBuildLockPath(image));
  const lock = holder && (await zk.exists(holder.entryPath));
  return lock !== undefined && stat !== undefined && lock.czxid < stat.czxid && lock.ephemeralOwner !== zk.sessionId;
}

/**
 * Waits until the locks of these builds are free: that of a process that has died is so when its session is over.
 * @throws NODEPOOL_LOCK_TIMEOUT for one that is held longer
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
