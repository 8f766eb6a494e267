import type { Stat, ZooKeeper } from '../client/contract/types.js';
import { isZooKeeperError } from '../client/contract/errors.js';
import { imageBuildRequestPath, imagePath } from '../records/paths.js';

/** A request for a build, as it is in ZooKeeper. */
export interface BuildRequest {
  /** `mtime` is the time of the last request. */
  readonly stat: Stat;
  /** Time of an earlier request that no build has served, in ms since the epoch; `undefined`: none. */
  readonly earlierMs: number | undefined;
}

/**
 * Requests a build of an image. A request that waits is renewed: its version and time of change grow, so that builders end their
 * back-off, and a build in progress does not serve it.
 */
export async function requestBuild(zk: ZooKeeper, image: string): Promise<BuildRequest> {
  const path = imageBuildRequestPath(image);
  await zk.ensurePath(imagePath(image));
  for (;;) {
    const earlier = await zk.exists(path);
    try {
      if (earlier) return { stat: await zk.setData(path, '', earlier.version), earlierMs: earlier.mtime };
      await zk.create(path);
      const stat = await zk.exists(path);
      if (stat) return { stat, earlierMs: undefined };
    } catch (error) {
      if (!RACES.some((code) => isZooKeeperError(error, code))) throw error;
    }
  }
}

const RACES = ['ZK_NO_NODE', 'ZK_NODE_EXISTS', 'ZK_BAD_VERSION'] as const;

/** Removes a request that a build has served, unless it was renewed since it had the given `stat`. */
export async function removeBuildRequest(zk: ZooKeeper, image: string, { czxid, version }: Stat): Promise<void> {
  const path = imageBuildRequestPath(image);
  try {
    if ((await zk.exists(path))?.czxid === czxid) await zk.delete(path, version);
  } catch (error) {
    if (!isZooKeeperError(error, 'ZK_NO_NODE') && !isZooKeeperError(error, 'ZK_BAD_VERSION')) throw error;
  }
}
