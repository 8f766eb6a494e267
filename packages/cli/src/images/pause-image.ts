import { imagePausePath, isZooKeeperError } from '@nodepool/zk-protocol';
import { withZooKeeper } from '../connection/connection.js';
import type { CliContext } from '../command/context.js';
import { createFlag } from './create-flag.js';

/** `nodepool image-pause`: builders begin no build of the image. It need not exist; pausing twice is fine. */
export async function pauseImage(context: CliContext, { image }: { image: string }): Promise<void> {
  const path = imagePausePath(image);
  await withZooKeeper(context, (zk) => createFlag(zk, path));
}

/** `nodepool image-unpause`: the contrary, as patient. */
export async function unpauseImage(context: CliContext, { image }: { image: string }): Promise<void> {
  const path = imagePausePath(image);
  await withZooKeeper(context, async (zk) => {
    try {
      await zk.delete(path);
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_NO_NODE')) throw error;
    }
  });
}
