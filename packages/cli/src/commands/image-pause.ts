import { imagePath, imagePausePath, isZooKeeperError } from '@nodepool/zk-protocol';
import type { ZooKeeper } from '@nodepool/zk-protocol';
import { defineCommand, text } from '../command/command.js';
import { inform } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { withZooKeeper } from '../connection/connection.js';
import { knownNames, meantText } from '../connection/known-names.js';
import { IMAGE } from './shared-options.js';

/** `nodepool image-pause`. */
export const command = defineCommand({
  positionals: { image: IMAGE },
  parse: (values) => ({ image: text(values, 'image') ?? '' }),
  run: pauseImage,
});

/** Warns of an unknown image: it need not exist, but may be a typing error. */
export async function warnOfUnknown(context: CliContext, zk: ZooKeeper, image: string): Promise<void> {
  const known = await knownNames(context, zk, 'image');
  if (!known.includes(image))
    inform(`nodepool: no record and no configuration here has the image ${image}${meantText(image, known)}`);
}

/** `nodepool image-pause`: builders start no build of the image. It need not exist. Idempotent. */
async function pauseImage(context: CliContext, { image }: { image: string }): Promise<void> {
  const path = imagePausePath(image);
  await withZooKeeper(context, async (zk) => {
    await warnOfUnknown(context, zk, image);
    await zk.ensurePath(imagePath(image));
    await zk.create(path).catch((error: unknown) => {
      if (!isZooKeeperError(error, 'ZK_NODE_EXISTS')) throw error;
    });
  });
}
