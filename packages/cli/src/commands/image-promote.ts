import { failedTests, readyBuilds, trialOf, withoutFailedTests, withoutTrial } from '@nodepool/core/service';
import { buildPath, decodeBuild, encodeBuild, isZooKeeperError } from '@nodepool/zk-protocol';
import type { BuildRecord } from '@nodepool/zk-protocol';
import { defineCommand, text } from '../command/command.js';
import { print } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { ifPresent } from '../connection/fetch-records.js';
import { withImages } from '../images/with-images.js';
import type { StoredImages } from '../images/with-images.js';
import { IMAGE } from './shared-options.js';

/** `nodepool image-promote`. */
export const command = defineCommand({
  positionals: { image: IMAGE },
  parse: (values) => ({ image: text(values, 'image') ?? '' }),
  run: promoteImage,
});

/**
 * `nodepool image-promote`: ends the trial of the newest build of an image, so that all launches get it. Where the build has
 * failed its test, it is uploaded and tested again. Idempotent.
 * @throws CliError when there is no build that is ready
 */
async function promoteImage(context: CliContext, { image }: { image: string }): Promise<void> {
  await withImages(context, async ({ zk, images }) => {
    const [newest] = readyBuilds(images.get(image));
    if (!newest) throw new CliError(`Image ${image} has no build that is ready`);
    const failed = [...failedTests(newest).keys()];
    const wasTried = await endTrial(context, zk, newest);
    if (failed.length > 0) print(`Build ${newest.id} of ${image} is uploaded and tested again in ${failed.join(', ')}`);
    print(`Build ${newest.id} of ${image} is in service${wasTried ? ': all launches get it from now on' : ' already'}`);
  });
}

/** Retries when a launcher stores the result of a launch at the same time. @returns whether there was a trial */
async function endTrial(context: CliContext, zk: StoredImages['zk'], { image, id }: BuildRecord): Promise<boolean> {
  for (;;) {
    const nowMs = context.clock.now();
    const stored = await ifPresent(zk.getData(buildPath(image, id)));
    const build = stored && decodeBuild({ image, id }, stored.data, stored.stat, nowMs);
    if (build?.state !== 'ready') throw new CliError(`Build ${id} of ${image} is not ready any more, nothing was done`);
    const wasTried = trialOf(build) !== undefined;
    if (!wasTried && failedTests(build).size === 0) return false;
    try {
      const promoted = withoutFailedTests(withoutTrial(build));
      await zk.setData(buildPath(image, id), encodeBuild(promoted), stored?.stat.version);
      return wasTried;
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_BAD_VERSION', 'ZK_NO_NODE')) throw error;
    }
  }
}
