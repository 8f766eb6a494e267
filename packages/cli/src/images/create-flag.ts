import { isZooKeeperError } from '@nodepool/zk-protocol';
import type { ZooKeeper } from '@nodepool/zk-protocol';

/** Creates a znode that is a flag. @returns false if it existed */
export async function createFlag(zk: ZooKeeper, path: string): Promise<boolean> {
  await zk.ensurePath(path.slice(0, path.lastIndexOf('/')));
  try {
    await zk.create(path);
    return true;
  } catch (error) {
    if (isZooKeeperError(error, 'ZK_NODE_EXISTS')) return false;
    throw error;
  }
}
