import { imageBuildRequestPath } from '@nodepool/zk-protocol';
import type { Config } from '@nodepool/core';
import { loadConnectionConfig } from '../connection/config.js';
import { tell } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { createFlag } from './create-flag.js';
import { followBuild } from './follow-build.js';
import { pausedHint } from './paused-hint.js';
import { withImages } from './with-images.js';

/** `nodepool image-build`: asks builders for a build now; with `follow` shows it, and ends as it ends. */
export async function requestBuild(
  context: CliContext,
  { image, follow }: { image: string; follow: boolean },
): Promise<number> {
  const config = await loadConnectionConfig(context);
  checkImage(config, image);
  if (follow) return followBuild(context, { image, logDir: config.buildLogDir, token: config.apiTokens[0]?.token });
  await withImages(context, async ({ zk, images }) => {
    await createFlag(zk, imageBuildRequestPath(image));
    if (images.get(image)?.paused === true) tell(pausedHint(image));
  });
  return 0;
}

function checkImage({ diskimages }: Config, name: string): void {
  const image = diskimages.get(name);
  if (!image) throw new CliError(`Trying to build a non disk-image-builder image: ${name}`);
  if (image.abstract) throw new CliError(`${name} is abstract: other images are made of it, it is not built itself`);
  if (image.pause) throw new CliError(`Skipping build request for image ${name}; paused`);
}
