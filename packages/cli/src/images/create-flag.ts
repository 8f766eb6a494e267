import { isZooKeeperError } from '@nodepool/zk-protocol';
import type { ZooKeeper } from '@nodepool/zk-protocol';

/** Makes a znode whose presence says something. @returns false when it was there */
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
