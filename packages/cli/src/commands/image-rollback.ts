import { providersWithout, withdrawal, readyBuilds } from '@nodepool/core/service';
import { isZooKeeperError } from '@nodepool/zk-protocol';
import type { ImageEntry } from '@nodepool/zk-protocol';
import { defineCommand, text } from '../command/command.js';
import { print } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { withImages } from '../images/with-images.js';
import { IMAGE } from './shared-options.js';

/** `nodepool image-rollback`. */
export const command = defineCommand({
  positionals: { image: IMAGE },
  parse: (values) => ({ image: text(values, 'image') ?? '' }),
  run: rollbackImage,
});

/**
 * `nodepool image-rollback`: takes the newest build of an image and its uploads out of service and pauses the image, in one
 * transaction, so that launchers use the previous build from that moment and no builder builds the bad one again.
 * @throws CliError when there is no previous build, or not where the newest one is
 */
async function rollbackImage(context: CliContext, { image }: { image: string }): Promise<void> {
  await withImages(context, async ({ zk, images }) => {
    const { entry, bad, good } = choose(image, images.get(image));
    const without = providersWithout(entry, bad);
    if (without.length > 0) {
      const providers = without.join(', ');
      throw new CliError(`Build ${good.id} of ${image} is not ready in ${providers}: there would be no image there`);
    }
    const reason = `build ${bad.id} was withdrawn with "nodepool image-rollback"`;
    try {
      await zk.multi(withdrawal(entry, bad, reason, context.clock.now()));
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_BAD_VERSION', 'ZK_NO_NODE', 'ZK_NODE_EXISTS')) throw error;
      throw new CliError(`Image ${image} has changed meanwhile, nothing was done: try again`, { cause: error });
    }
    print(`Build ${good.id} of ${image} serves; build ${bad.id} is being removed`);
    print(`The image is paused: "nodepool image-unpause ${image}" lets it be built again`);
  });
}

/** The two newest builds that are ready. */
function choose(image: string, entry: ImageEntry | undefined) {
  const [bad, good] = readyBuilds(entry);
  if (!entry || !bad) throw new CliError(`Image ${image} has no build that is ready`);
  if (!good) throw new CliError(`Image ${image} has no build before ${bad.id}: there is nothing to go back to`);
  return { entry, bad, good };
}
