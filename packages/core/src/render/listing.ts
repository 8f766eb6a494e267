import { escapeControlCharacters } from '@nodepool/zk-protocol';
import type { Json } from '@nodepool/zk-protocol';
import { formatTime } from './age.js';
import { toPythonJson, toPythonRepr } from '../text/python-text.js';
import { fittingColumns, renderLines, tableLines } from './table.js';

/** One column of a listing, rendered as a JSON member and as a table cell. */
export interface Column<Row> {
  /** Name of the JSON member, also used in `fields`. */
  readonly key: string;
  readonly header: string;
  /**
   * - `brief` in every table
   * - `detail` in detailed tables only
   * - `extra` an addition to Nodepool's columns: in tables only when named in `fields`, to keep Nodepool's formats
   */
  readonly level: 'brief' | 'detail' | 'extra';
  /** Is not truncated in a table of limited width, as commands take it as an argument. */
  readonly isWhole?: boolean;
  /**
   * The column may be left out of a table that is too wide even with truncated cells; the highest number first. Without a number it
   * is left out only if all its cells are empty.
   */
  readonly spare?: number;
  /** The value depends on the time, or on data of the row outside of its record. */
  readonly isChanging?: boolean;
  /** The JSON value. */
  value(row: Row, nowMs: number): Json;
  /** The table cell, if it differs from the value as text. */
  cell?(row: Row, nowMs: number): Json;
}

/** Selection of columns of a table. */
export interface TableSelection {
  /** Also show the `detail` columns. */
  detail?: boolean | undefined;
  /** Keys of the only columns to show, including `extra` ones, in the order of the listing. Unknown keys are ignored. */
  fields?: ReadonlySet<string> | undefined;
  /** Maximum width of a table in characters: long cells are truncated. Default: unlimited. */
  width?: number | undefined;
  /** Called with the keys of columns that are left out to keep the width, if there are any. Columns named in `fields` stay. */
  onLeftOut?: ((keys: readonly string[]) => void) | undefined;
}

/** Column of a time: seconds since 1970 in JSON, a UTC time in a table. @param timeMs - `null` for no value */
export function timeColumn<Row>(
  key: string,
  header: string,
  level: Column<Row>['level'],
  timeMs: (row: Row) => number | null,
): Column<Row> {
  const seconds = (ms: number | null) => (ms === null ? null : ms / 1000);
  return { key, header, level, value: (row) => seconds(timeMs(row)), cell: (row) => formatTime(timeMs(row)) };
}

/** The columns of one kind of record. */
export type Listing<Row> = readonly Column<Row>[];

/**
 * Says how tables of limited width treat columns.
 * @param ranks - keys of columns that are never truncated, and of those that may be left out, the first one first
 */
export function withRanks<Row>(
  columns: Listing<Row>,
  { whole = [], spare }: { readonly whole?: readonly string[]; readonly spare: readonly string[] },
): Listing<Row> {
  return columns.map((column) => ({
    ...column,
    ...(whole.includes(column.key) && { isWhole: true }),
    ...(spare.includes(column.key) && { spare: spare.length - spare.indexOf(column.key) }),
  }));
}

/** Formats a value as a table cell: lists joined by `,`, null as empty text, objects and booleans in Python's notation. */
export function toCell(value: Json): string {
  if (value === null) return '';
  if (typeof value === 'string') return escapeControlCharacters(value);
  if (Array.isArray(value)) return value.map(toCell).join(',');
  return toPythonRepr(value);
}

function isShown<Row>(column: Column<Row>, selection: TableSelection): boolean {
  if (selection.fields) return selection.fields.has(column.key);
  return column.level === 'brief' || (column.level === 'detail' && selection.detail === true);
}

/** Rows per part of {@link listingTableParts} and {@link ListingJsonWriter.parts}. */
const ROWS_A_PART = 100;

/** Formats rows as a box table, without a final newline. */
export function listingToTable<Row>(
  listing: Listing<Row>,
  rows: Iterable<Row>,
  nowMs: number,
  selection: TableSelection = {},
): string {
  return [...listingTableParts(listing, rows, nowMs, selection)].join('');
}

/**
 * As {@link listingToTable}, in parts, so that the writer of a long table can yield between parts. Copies the rows before
 * the first part. Parts may be empty.
 */
export function* listingTableParts<Row>(
  listing: Listing<Row>,
  rows: Iterable<Row>,
  nowMs: number,
  selection: TableSelection = {},
): Generator<string, void> {
  const columns = listing.filter((column) => isShown(column, selection));
  const taken = [...rows];
  const cells: string[][] = [];
  for (const row of taken) {
    cells.push(columns.map((column) => cellOf(column, row, nowMs)));
    if (cells.length % ROWS_A_PART === 0) yield '';
  }
  const kept = keptColumns(columns, cells, selection);
  const shown = kept.flatMap((index) => columns[index] ?? []);
  const limits = { total: selection.width, whole: wholeColumns(shown) };
  const headers = shown.map((column) => column.header);
  const rowsShown = kept.length === columns.length ? cells : cells.map((row) => kept.map((index) => row[index] ?? ''));
  yield* inParts(tableLines(headers, rowsShown, limits), '\n');
}

const wholeColumns = <Row>(columns: Listing<Row>) =>
  new Set(columns.flatMap(({ isWhole }, index) => (isWhole ? index : [])));

/** Numbers of the columns that a table of limited width has. All of those that were asked for by `detail` or `fields`. */
function keptColumns<Row>(
  columns: Listing<Row>,
  cells: readonly (readonly string[])[],
  { width, detail, fields, onLeftOut }: TableSelection,
): readonly number[] {
  const all = [...columns.keys()];
  if (width === undefined || detail === true || fields) return all;
  const spare = (index: number) => columns[index]?.spare ?? 0;
  const order = all.filter((index) => spare(index) > 0).sort((a, b) => spare(b) - spare(a));
  const headers = columns.map((column) => column.header);
  const kept = fittingColumns(headers, cells, { total: width, whole: wholeColumns(columns) }, order);
  const leftOut = columns.filter((_, index) => !kept.includes(index)).map(({ key }) => key);
  if (leftOut.length > 0) onLeftOut?.(leftOut);
  return kept;
}

function* inParts(texts: Iterable<string>, separator: string): Generator<string, void> {
  let part: string[] = [];
  let isFirst = true;
  for (const text of texts) {
    part.push(text);
    if (part.length < ROWS_A_PART) continue;
    yield (isFirst ? '' : separator) + part.join(separator);
    isFirst = false;
    part = [];
  }
  if (part.length > 0) yield (isFirst ? '' : separator) + part.join(separator);
}

/** Formats rows as lines without header and rules, for programs that split words. Columns are separated by two spaces. */
export function listingToLines<Row>(
  listing: Listing<Row>,
  rows: Iterable<Row>,
  nowMs: number,
  selection: TableSelection = {},
): string {
  const columns = listing.filter((column) => isShown(column, selection));
  return renderLines(Array.from(rows, (row) => columns.map((column) => cellOf(column, row, nowMs))));
}

function cellOf<Row>(column: Column<Row>, row: Row, nowMs: number): string {
  return toCell(column.cell ? column.cell(row, nowMs) : column.value(row, nowMs));
}

/**
 * Converts rows to objects, with members in the order of the columns. `extra` columns come last.
 * @param fields - members to keep; default all
 */
export function listingToObjects<Row>(
  listing: Listing<Row>,
  rows: Iterable<Row>,
  nowMs: number,
  fields?: ReadonlySet<string>,
): Record<string, Json>[] {
  const columns = fields ? listing.filter((column) => fields.has(column.key)) : listing;
  return Array.from(rows, (row) => Object.fromEntries(columns.map((column) => [column.key, column.value(row, nowMs)])));
}

/** As {@link listingToObjects}, serialized as Python's JSON writer does. */
export function listingToJson<Row>(
  listing: Listing<Row>,
  rows: Iterable<Row>,
  nowMs: number,
  fields?: ReadonlySet<string>,
): string {
  const columns = fields ? listing.filter((column) => fields.has(column.key)) : listing;
  return [...new ListingJsonWriter(columns).parts(rows, nowMs)].join('');
}

/**
 * Serializes rows as {@link listingToJson} does, in parts, so that the writer of a long listing can yield between parts.
 * Caches the JSON of each record for the lifetime of the record, so that repeated listings serialize only changes.
 */
export class ListingJsonWriter<Row> {
  readonly #steady: readonly (readonly KeyedColumn<Row>[])[];
  readonly #changing: readonly Column<Row>[];
  readonly #recordOf: ((row: Row) => object) | undefined;
  readonly #kept = new WeakMap<object, readonly string[]>();

  /** @param recordOf - immutable object that a row shows, the cache key; without it nothing is cached */
  constructor(listing: Listing<Row>, recordOf?: (row: Row) => object) {
    const steady: KeyedColumn<Row>[][] = [[]];
    for (const [index, column] of listing.entries()) {
      const before = `${index === 0 ? '{' : ', '}${toPythonJson(column.key)}: `;
      steady.at(-1)?.push({ before, column: column.isChanging ? undefined : column });
      if (column.isChanging) steady.push([]);
    }
    this.#steady = steady;
    this.#changing = listing.filter(({ isChanging }) => isChanging);
    this.#recordOf = recordOf;
  }

  /** Copies the rows before the first part. */
  *parts(rows: Iterable<Row>, nowMs: number): Generator<string, void> {
    const taken = [...rows];
    yield '[';
    yield* inParts(
      mapEach(taken, (row) => this.#objectOf(row, nowMs)),
      ', ',
    );
    yield ']';
  }

  #objectOf(row: Row, nowMs: number): string {
    const pieces: string[] = [];
    for (const [index, steady] of this.#steadyOf(row, nowMs).entries()) {
      pieces.push(steady);
      const column = this.#changing[index];
      if (column) pieces.push(toPythonJson(column.value(row, nowMs)));
    }
    const text = pieces.join('');
    return text === '' ? '{}' : `${text}}`;
  }

  /** The texts before, between and after the changing values. */
  #steadyOf(row: Row, nowMs: number): readonly string[] {
    const record = this.#recordOf?.(row);
    const kept = record && this.#kept.get(record);
    if (kept) return kept;
    const written = this.#steady.map((run) =>
      run.map(({ before, column }) => (column ? before + toPythonJson(column.value(row, nowMs)) : before)).join(''),
    );
    if (record) this.#kept.set(record, written);
    return written;
  }
}

/** A column and the text before its value. `column` is `undefined` for a changing value, which is not cached. */
interface KeyedColumn<Row> {
  readonly before: string;
  readonly column: Column<Row> | undefined;
}

function* mapEach<T, R>(items: Iterable<T>, map: (item: T) => R): Generator<R, void> {
  for (const item of items) yield map(item);
}
