import { extendedUploadListing, uploadListing, uploadsOf } from '@nodepool/core/service';
import { defineCommand, NO_ARGUMENTS } from '../command/command.js';
import type { CliContext } from '../command/context.js';
import { printImages } from '../images/print-images.js';
import { withImages } from '../images/with-images.js';

/** `nodepool image-list`. */
export const command = defineCommand({
  reads: true,
  parse: () => NO_ARGUMENTS,
  run: listUploads,
});

async function listUploads(context: CliContext): Promise<void> {
  const uploads = await withImages(context, ({ images }) => uploadsOf(images));
  printImages(context, { brief: uploadListing, extended: extendedUploadListing }, uploads);
}
