import {
  extendedImageStatusListing,
  imageNotes,
  imagesOf,
  imageStatusListing,
  imageWorkToText,
} from '@nodepool/core/service';
import type { Column } from '@nodepool/core/service';
import type { ImageEntry } from '@nodepool/zk-protocol';
import { defineCommand, NO_ARGUMENTS } from '../command/command.js';
import { inform } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { loadIfPresent } from '../connection/connection.js';
import { fetchImageWork, hasBuilder, NO_BUILDER } from '../images/ask-builders.js';
import { printImages } from '../images/print-images.js';
import { withImages } from '../images/with-images.js';

/** `nodepool image-status`. */
export const command = defineCommand({
  reads: true,
  parse: () => NO_ARGUMENTS,
  run: listImageStatus,
});

/** `nodepool image-status`: which images are paused, which builds are requested, and the work of builders. */
async function listImageStatus(context: CliContext): Promise<void> {
  const config = await loadIfPresent(context);
  const { rows, work, isServed } = await withImages(context, async ({ zk, images }) => ({
    rows: imagesOf(images).map((row) => ({
      ...row,
      paused: row.paused || config?.diskimages.get(row.name)?.pause === true,
    })),
    work: await fetchImageWork({ ...context, zk }),
    isServed: await hasBuilder({ ...context, zk }),
  }));
  const nowMs = context.clock.now();
  const progress: Column<ImageEntry> = {
    ...{ key: 'progress', header: 'Progress', level: 'extra' },
    value: ({ name }) => work.filter(({ image }) => image === name).map((one) => imageWorkToText(one, nowMs)),
  };
  printImages(context, { brief: imageStatusListing, extended: [...extendedImageStatusListing, progress] }, rows);
  const { format, fields } = context.options;
  if (format !== 'table' || fields) return;
  for (const row of rows) for (const note of imageNotes(row)) inform(`${row.name}: ${note}`);
  for (const one of work) inform(`${one.image}: ${imageWorkToText(one, nowMs)}`);
  if (!isServed && rows.some(({ buildRequestedMs }) => buildRequestedMs !== undefined)) inform(NO_BUILDER);
}
