import { isZooKeeperError, ZkLock, type ZooKeeper } from '@nodepool/zk-protocol';
import type { Logger } from '@nodepool/core';

/**
 * Calls `gone` once, when the present holder of a lock has released it or is gone; at once when it is free. After a
 * broken connection it may never be called.
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
    logger.debug('The holder of a lock cannot be watched', { path: root, error });
  }
}
