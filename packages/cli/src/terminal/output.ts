import { stringify } from 'yaml';
import type { Json } from '@nodepool/zk-protocol';
import { listingToLines, listingToObjects, listingToTable, toPythonJson } from '@nodepool/core/service';
import type { Listing, TableSelection } from '@nodepool/core/service';
import { forOutput, print, inform } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { UsageError } from '../command/usage-error.js';

type OutputContext = Pick<CliContext, 'options' | 'clock'>;

/** Prints a value as YAML if requested, else as JSON in the form of all listings: only these can be CSV. */
export function printValue({ options }: Pick<OutputContext, 'options'>, value: Json): void {
  if (options.format === 'yaml') process.stdout.write(forOutput(stringify(value, { lineWidth: 0 })));
  else print(toPythonJson(value));
}

/** Prints rows with the format and fields of the options. @throws UsageError for an unknown field */
export function printListing<Row>(
  context: OutputContext,
  listing: Listing<Row>,
  rows: readonly Row[],
  selection: TableSelection = {},
): void {
  const { format } = context.options;
  const nowMs = context.clock.now();
  checkFields(context, [listing]);
  if (format !== 'table') {
    const objects = listingToObjects(listing, rows, nowMs, context.options.fields);
    if (format === 'csv') print(toCsv(listing, objects, context.options.fields));
    else printValue(context, objects);
  } else {
    const text = tableOf(context, listing, rows, selection);
    if (text !== '') print(text);
  }
}

/** The rows as a table, with the fields and headers of the options; fits the terminal unless the selection has a width. */
export function tableOf<Row>(
  { options, clock }: OutputContext,
  listing: Listing<Row>,
  rows: readonly Row[],
  selection: TableSelection = {},
): string {
  const width = (process.stdout.isTTY && process.stdout.columns) || undefined; // a terminal of unknown size has 0 columns
  const onLeftOut = (keys: readonly string[]) =>
    inform(`Columns that do not fit the terminal: ${keys.join(', ')} (to show columns: --fields A,B)`);
  const chosen = { width, onLeftOut, ...selection, fields: options.fields };
  return (options.headers ? listingToTable : listingToLines)(listing, rows, clock.now(), chosen);
}

/** @throws UsageError for a field that none of the listings has */
export function checkFields({ options }: Pick<OutputContext, 'options'>, listings: readonly Listing<never>[]): void {
  const known = [...new Set(listings.flatMap((listing) => listing.map(({ key }) => key)))];
  for (const field of options.fields ?? []) {
    if (!known.includes(field)) throw new UsageError(`unknown field "${field}", known are ${known.join(', ')}`);
  }
}

/** The members of all rows as CSV (RFC 4180) with a header. A list or map is written as JSON. */
function toCsv<Row>(
  listing: Listing<Row>,
  rows: readonly Record<string, Json>[],
  fields?: ReadonlySet<string>,
): string {
  const keys = listing.map(({ key }) => key).filter((key) => fields?.has(key) ?? true);
  return [keys, ...rows.map((row) => keys.map((key) => row[key] ?? null))]
    .map((row) => row.map(csvCell).join(','))
    .join('\n');
}

function csvCell(value: Json): string {
  if (value === null) return '';
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
