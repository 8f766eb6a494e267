import type { ImageEntry } from '@nodepool/zk-protocol';
import {
  buildListing,
  buildsOf,
  extendedBuildListing,
  extendedImageStatusListing,
  extendedUploadListing,
  imageNotes,
  imagesOf,
  imageStatusListing,
  imageWorkToText,
  uploadListing,
  uploadsOf,
} from '@nodepool/core/service';
import type { Column, Listing } from '@nodepool/core/service';
import { tell } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { printListing } from '../terminal/output.js';
import { fetchImageWork } from './fetch-image-work.js';
import { withImages } from './with-images.js';

type Images = ReadonlyMap<string, ImageEntry>;

/** `nodepool dib-image-list`: all builds. */
export const listBuilds = (context: CliContext): Promise<void> =>
  list(context, { brief: buildListing, extended: extendedBuildListing }, buildsOf);

/** `nodepool image-list`: all uploads. */
export const listUploads = (context: CliContext): Promise<void> =>
  list(context, { brief: uploadListing, extended: extendedUploadListing }, uploadsOf);

/** `nodepool image-status`: which images are paused, which builds are asked for, and what builders are at. */
export async function listImageStatus(context: CliContext): Promise<void> {
  const { rows, work } = await withImages(context, async ({ zk, images }) => ({
    rows: imagesOf(images),
    work: await fetchImageWork({ ...context, zk }),
  }));
  const nowMs = context.clock.now();
  const progress: Column<ImageEntry> = {
    ...{ key: 'progress', header: 'Progress', level: 'extra' },
    value: ({ name }) => work.filter(({ image }) => image === name).map((one) => imageWorkToText(one, nowMs)),
  };
  print(context, { brief: imageStatusListing, extended: [...extendedImageStatusListing, progress] }, rows);
  const { format, fields } = context.options;
  if (format !== 'table' || fields) return;
  for (const row of rows) for (const note of imageNotes(row, nowMs)) tell(`${row.name}: ${note}`);
  for (const one of work) tell(`${one.image}: ${imageWorkToText(one, nowMs)}`);
}

/** Programs, and those who name fields, may have the members of ours too. */
async function list<Row>(
  context: CliContext,
  listings: { readonly brief: Listing<Row>; readonly extended: Listing<Row> },
  rowsOf: (images: Images) => Row[],
): Promise<void> {
  print(context, listings, await withImages(context, ({ images }) => rowsOf(images)));
}

function print<Row>(
  context: CliContext,
  listings: { readonly brief: Listing<Row>; readonly extended: Listing<Row> },
  rows: Row[],
): void {
  const { format, fields } = context.options;
  printListing(context, format !== 'table' || fields ? listings.extended : listings.brief, rows);
}
