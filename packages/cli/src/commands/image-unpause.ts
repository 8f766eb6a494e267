import { imagePausePath, isZooKeeperError } from '@nodepool/zk-protocol';
import { defineCommand, text } from '../command/command.js';
import type { CliContext } from '../command/context.js';
import { withZooKeeper } from '../connection/connection.js';
import { warnOfUnknown } from './image-pause.js';
import { IMAGE } from './shared-options.js';

/** `nodepool image-unpause`. */
export const command = defineCommand({
  positionals: { image: IMAGE },
  parse: (values) => ({ image: text(values, 'image') ?? '' }),
  run: unpauseImage,
});

/** `nodepool image-unpause`: builders may build the image again. Idempotent. */
async function unpauseImage(context: CliContext, { image }: { image: string }): Promise<void> {
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
