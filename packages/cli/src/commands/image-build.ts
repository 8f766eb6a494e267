import type { Config } from '@nodepool/core';
import { defineCommand, flag, text } from '../command/command.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { loadConnectionConfig } from '../connection/config.js';
import { meantText } from '../connection/known-names.js';
import { followBuild } from '../images/follow-build.js';
import { orderBuild } from '../images/order-build.js';
import { withImages } from '../images/with-images.js';
import { IMAGE } from './shared-options.js';

/** `nodepool image-build`. */
export const command = defineCommand({
  positionals: { image: IMAGE },
  options: {
    follow: { type: 'boolean', default: false, describe: 'show the log of the build; status 1 when it fails' },
  },
  parse: (values) => ({ image: text(values, 'image') ?? '', follow: flag(values, 'follow') }),
  run: requestBuild,
});

/** `nodepool image-build`: requests a build now; with `follow` shows it until it ends. */
async function requestBuild(
  context: CliContext,
  { image, follow }: { image: string; follow: boolean },
): Promise<number> {
  const config = await loadConnectionConfig(context);
  checkImage(config, image);
  if (follow) return followBuild(context, { image, logDir: config.buildLogDir, token: config.apiTokens[0]?.token });
  await withImages(context, (stored) => orderBuild(context, stored, image));
  return 0;
}

function checkImage({ diskimages }: Config, name: string): void {
  const image = diskimages.get(name);
  const buildable = [...diskimages.values()].flatMap(({ name, abstract }) => (abstract ? [] : name));
  if (!image)
    throw new CliError(`Trying to build a non disk-image-builder image: ${name}${meantText(name, buildable)}`);
  if (image.abstract)
    throw new CliError(`${name} is abstract: it is not built itself, only images that have it as parent`);
  if (image.pause) throw new CliError(`Skipping build request for image ${name}; paused`);
}
