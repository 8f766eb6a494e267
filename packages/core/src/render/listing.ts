import type { Json } from '@nodepool/zk-protocol';
import { escapeControlCharacters, toPythonJson, toPythonRepr } from './python-text.js';
import { renderLines, renderTable } from './table.js';

/** One column of a listing: the same facts as a JSON member and as a table cell. */
export interface Column<Row> {
  /** Name of the JSON member, and the name by which `fields` asks for the column. */
  readonly key: string;
  readonly header: string;
  /**
   * - `brief` in every table
   * - `detail` in detailed tables only
   * - `extra` ours: in tables only when asked for by name, so that the established formats stay as they are
   */
  readonly level: 'brief' | 'detail' | 'extra';
  /** The JSON value. */
  value(row: Row, nowMs: number): Json;
  /** The cell, where it is not simply the value as text. */
  cell?(row: Row, nowMs: number): Json;
}

/** Which columns a table shows. */
export interface TableSelection {
  /** Show the `detail` columns too. */
  detail?: boolean | undefined;
  /** Keys of the columns to show instead, `extra` ones too; the order stays the table's, unknown keys are ignored. */
  fields?: ReadonlySet<string> | undefined;
  /** How wide a table may be, in characters: long cells are cut. Default: as wide as it needs to be. */
  width?: number | undefined;
}

/** The columns of one kind of record. */
export type Listing<Row> = readonly Column<Row>[];

/** A value as a table cell: lists joined by `,`, null empty, objects and booleans in Python's notation. */
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

/** The rows as a box table, without a final line end. */
export function listingToTable<Row>(
  listing: Listing<Row>,
  rows: Iterable<Row>,
  nowMs: number,
  selection: TableSelection = {},
): string {
  const columns = listing.filter((column) => isShown(column, selection));
  const cells = Array.from(rows, (row) => columns.map((column) => cellOf(column, row, nowMs)));
  return renderTable(
    columns.map((column) => column.header),
    cells,
    selection.width,
  );
}

/** The rows as lines without header and rules, for programs that take words apart; columns stand two blanks apart. */
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
 * The rows as objects, members in the order of the columns. `extra` columns come last.
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

/** As {@link listingToObjects}, written the way Python's JSON writer does. */
export function listingToJson<Row>(
  listing: Listing<Row>,
  rows: Iterable<Row>,
  nowMs: number,
  fields?: ReadonlySet<string>,
): string {
  return toPythonJson(listingToObjects(listing, rows, nowMs, fields));
}
