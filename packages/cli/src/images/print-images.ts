import type { Listing } from '@nodepool/core/service';
import type { CliContext } from '../command/context.js';
import { printListing } from '../terminal/output.js';

/** Prints builds, uploads or images. JSON, YAML and `--fields` also have the extended columns. */
export function printImages<Row>(
  context: CliContext,
  listings: { readonly brief: Listing<Row>; readonly extended: Listing<Row> },
  rows: readonly Row[],
): void {
  const { format, fields } = context.options;
  printListing(context, format !== 'table' || fields ? listings.extended : listings.brief, rows);
}
