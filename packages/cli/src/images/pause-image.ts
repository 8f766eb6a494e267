import { imagePausePath, isZooKeeperError } from '@nodepool/zk-protocol';
import type { ZooKeeper } from '@nodepool/zk-protocol';
import { tell } from '../command/context.js';
import { withZooKeeper } from '../connection/connection.js';
import type { CliContext } from '../command/context.js';
import { knownNames, meantText } from '../connection/known-names.js';
import { createFlag } from './create-flag.js';

/** The image need not exist, but a typing error should be seen. */
async function warnOfUnknown(context: CliContext, zk: ZooKeeper, image: string): Promise<void> {
  const known = await knownNames(context, zk, 'image');
  if (!known.includes(image))
    tell(`nodepool: no record and no configuration here has the image ${image}${meantText(image, known)}`);
}

/** `nodepool image-pause`: builders begin no build of the image. It need not exist; pausing twice is fine. */
export async function pauseImage(context: CliContext, { image }: { image: string }): Promise<void> {
  const path = imagePausePath(image);
  await withZooKeeper(context, async (zk) => {
    await warnOfUnknown(context, zk, image);
    await createFlag(zk, path);
  });
}

/** `nodepool image-unpause`: the contrary, as patient. */
export async function unpauseImage(context: CliContext, { image }: { image: string }): Promise<void> {
  const path = imagePausePath(image);
  await withZooKeeper(context, async (zk) => {
    await warnOfUnknown(context, zk, image);
    try {
      await zk.delete(path);
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_NO_NODE')) throw error;
    }
  });
}
