function width(text: string): number {
  return Array.from(text).length;
}

function pad(text: string, columnWidth: number): string {
  return text + ' '.repeat(columnWidth - width(text));
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
 * Rows without a box, columns two blanks apart; an empty cell is `-`, so that a column keeps its number.
 * @returns lines joined by `\n`, without a final one
 */
export function renderLines(rows: readonly (readonly string[])[]): string {
  const filled = rows.map((row) => row.map((cell) => (cell === '' ? '-' : cell)));
  const widths = widthsOf(filled);
  const line = (row: readonly string[]) => row.map((cell, column) => pad(cell, widths[column] ?? 0)).join('  ');
  return filled.map((row) => line(row).trimEnd()).join('\n');
}

/**
 * A box table: rules above and below the header and at the end, cells left aligned with one blank on each side.
 * @returns lines joined by `\n`, without a final one
 */
export function renderTable(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = widthsOf([headers, ...rows]);
  const rule = `+${widths.map((columnWidth) => '-'.repeat(columnWidth + 2)).join('+')}+`;
  const line = (cells: readonly string[]) =>
    `| ${widths.map((columnWidth, column) => pad(cells[column] ?? '', columnWidth)).join(' | ')} |`;
  return [rule, line(headers), rule, ...rows.map(line), rule].join('\n');
}
