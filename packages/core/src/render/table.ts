import { isPlain } from '@nodepool/zk-protocol';

function width(text: string): number {
  return isPlain(text) ? text.length : Array.from(text).length;
}

function pad(text: string, columnWidth: number): string {
  return text + ' '.repeat(Math.max(0, columnWidth - width(text)));
}

function widthsOf(rows: readonly (readonly string[])[]): number[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, width(cell));
    });
  }
  return widths;
}

/**
 * Formats rows without a box, with two spaces between columns. An empty cell becomes `-` to keep the column count.
 * @returns lines joined by `\n`, without a final one
 */
export function renderLines(rows: readonly (readonly string[])[]): string {
  const filled = rows.map((row) => row.map((cell) => (cell === '' ? '-' : cell)));
  const widths = widthsOf(filled);
  const line = (row: readonly string[]) => row.map((cell, column) => pad(cell, widths[column] ?? 0)).join('  ');
  return filled.map((row) => line(row).trimEnd()).join('\n');
}

/** Maximum padding of a cell, so that one long comment does not lengthen every row. */
const MOST_PADDING = 128;
/** Minimum width of a truncated column, unless its header is wider: ids of ten digits and ages stay whole. */
const NARROWEST = 11;
/** Width of the box around a cell: a line and two spaces. */
const FRAME = 3;

/** Limits of a table. */
export interface TableLimits {
  /** Maximum width; truncated cells end with `…`. Default: unlimited, but a cell of more than 128 characters exceeds its column. */
  readonly total?: number | undefined;
  /** Numbers of columns that are never truncated. Default: none. */
  readonly whole?: ReadonlySet<number>;
}

function leastWidths(widths: readonly number[], headers: readonly string[], { whole }: TableLimits): number[] {
  return widths.map((own, column) =>
    whole?.has(column) ? own : Math.min(own, Math.max(NARROWEST, width(headers[column] ?? ''))),
  );
}

/**
 * Selects columns until the table can be as narrow as its limit. Empty columns are dropped first.
 * @param order - numbers of the columns that may be dropped although they have values, the first one first
 * @returns numbers of the columns to keep
 */
export function fittingColumns(
  headers: readonly string[],
  rows: readonly (readonly string[])[],
  limits: TableLimits,
  order: readonly number[],
): number[] {
  const { total = Infinity } = limits;
  const least = leastWidths(widthsOf([headers, ...rows]), headers, limits);
  const kept = new Set(headers.keys());
  const empty = [...kept].filter((column) => rows.length > 0 && rows.every((row) => row[column] === ''));
  let needed = 1 + sum(least.map((own) => own + FRAME));
  for (const column of [...empty, ...order]) {
    if (needed <= total) break;
    if (kept.delete(column)) needed -= (least[column] ?? 0) + FRAME;
  }
  return [...kept];
}

/**
 * Shrinks columns to the total width, the widest first and evenly. Columns at their minimum keep it, even if the table
 * remains too wide.
 */
function fitWidths(widths: readonly number[], headers: readonly string[], limits: TableLimits): number[] {
  const { total = Infinity } = limits;
  const least = leastWidths(widths, headers, limits);
  const fitting = [...widths];
  const room = total - 1 - FRAME * widths.length;
  for (let over = sum(fitting) - room; over > 0; over = sum(fitting) - room) {
    const shrinkable = fitting.map((own, column) => (own > (least[column] ?? 0) ? own : 0));
    const widest = Math.max(...shrinkable);
    if (widest <= 0) break;
    const next = Math.max(0, ...shrinkable.filter((own) => own < widest));
    const group = shrinkable.flatMap((own, column) => (own === widest ? [column] : []));
    const step = Math.max(1, Math.min(widest - next, Math.floor(over / group.length)));
    for (const column of group) {
      if (sum(fitting) <= room) break;
      fitting[column] = Math.max(least[column] ?? 0, widest - step);
    }
  }
  return fitting;
}

function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0);
}

/** Truncates a list between its members, which may be ids, and any other text anywhere. */
function cut(text: string, columnWidth: number): string {
  if (width(text) <= columnWidth) return text;
  const start = Array.from(text)
    .slice(0, columnWidth - 1)
    .join('');
  const end = text.includes(' ') || text[start.length] === ',' ? 0 : start.lastIndexOf(',') + 1;
  return `${end > 0 ? start.slice(0, end) : start}…`;
}

/** The lines of a box table: rules around the header and at the end, cells left-aligned with one space on each side. */
export function* tableLines(
  headers: readonly string[],
  rows: readonly (readonly string[])[],
  limits: TableLimits = {},
): Generator<string, void> {
  const needed = widthsOf([headers, ...rows]);
  const { total } = limits;
  const widths =
    total === undefined ? needed.map((own) => Math.min(own, MOST_PADDING)) : fitWidths(needed, headers, limits);
  const shown = (text: string, columnWidth: number) => (total === undefined ? text : cut(text, columnWidth));
  const rule = `+${widths.map((columnWidth) => '-'.repeat(columnWidth + 2)).join('+')}+`;
  const line = (cells: readonly string[]) =>
    `| ${widths.map((columnWidth, column) => pad(shown(cells[column] ?? '', columnWidth), columnWidth)).join(' | ')} |`;
  yield rule;
  yield line(headers);
  yield rule;
  for (const row of rows) yield line(row);
  yield rule;
}
