import { isZooKeeperError, ZkLock, type ZooKeeper } from '@nodepool/zk-protocol';
import type { Logger } from '@nodepool/core';

/**
 * Calls `gone` once when the current holder has released a lock or its session expired, or immediately if the lock is free.
 * After a broken connection it may never be called.
 * @param root - the lock directory
 */
export async function whenReleased(
  { zk, logger }: { readonly zk: ZooKeeper; readonly logger: Logger },
  root: string,
  gone: () => void,
): Promise<void> {
  try {
    const holder = await ZkLock.lockHolder(zk, root);
    const stat = holder && (await zk.exists(holder.entryPath, ({ type }) => type === 'deleted' && gone()));
    if (!stat) gone();
  } catch (error) {
    if (!isZooKeeperError(error)) throw error;
    logger.debug('Failed to watch the holder of a lock', { path: root, error });
  }
}
