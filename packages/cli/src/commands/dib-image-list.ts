import { buildListing, buildsOf, extendedBuildListing } from '@nodepool/core/service';
import { defineCommand, NO_ARGUMENTS } from '../command/command.js';
import type { CliContext } from '../command/context.js';
import { printImages } from '../images/print-images.js';
import { withImages } from '../images/with-images.js';

/** `nodepool dib-image-list`. */
export const command = defineCommand({
  reads: true,
  parse: () => NO_ARGUMENTS,
  run: listBuilds,
});

async function listBuilds(context: CliContext): Promise<void> {
  const builds = await withImages(context, ({ images }) => buildsOf(images));
  printImages(context, { brief: buildListing, extended: extendedBuildListing }, builds);
}
