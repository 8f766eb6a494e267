import type { ImageEntry } from '@nodepool/zk-protocol';
import {
  buildListing,
  buildsOf,
  extendedBuildListing,
  extendedUploadListing,
  imagesOf,
  imageStatusListing,
  uploadListing,
  uploadsOf,
} from '@nodepool/core/service';
import type { Listing } from '@nodepool/core/service';
import type { CliContext } from '../command/context.js';
import { printListing } from '../terminal/output.js';
import { withImages } from './with-images.js';

type Images = ReadonlyMap<string, ImageEntry>;

/** `nodepool dib-image-list`: all builds. */
export const listBuilds = (context: CliContext): Promise<void> =>
  list(context, { brief: buildListing, extended: extendedBuildListing }, buildsOf);

/** `nodepool image-list`: all uploads. */
export const listUploads = (context: CliContext): Promise<void> =>
  list(context, { brief: uploadListing, extended: extendedUploadListing }, uploadsOf);

/** `nodepool image-status`: which images are paused, and which builds are asked for. */
export const listImageStatus = (context: CliContext): Promise<void> =>
  list(context, { brief: imageStatusListing, extended: imageStatusListing }, imagesOf);

/** Programs, and those who name fields, may have the members of ours too. */
async function list<Row>(
  context: CliContext,
  listings: { readonly brief: Listing<Row>; readonly extended: Listing<Row> },
  rowsOf: (images: Images) => Row[],
): Promise<void> {
  const rows = await withImages(context, ({ images }) => rowsOf(images));
  const { format, fields } = context.options;
  printListing(context, format !== 'table' || fields ? listings.extended : listings.brief, rows);
}
