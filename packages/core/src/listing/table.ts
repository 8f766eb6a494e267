function width(text: string): number {
  return Array.from(text).length;
}

function pad(text: string, columnWidth: number): string {
  return text + ' '.repeat(columnWidth - width(text));
}

/**
 * A box table: rules above and below the header and at the end, cells left aligned with one blank on each side.
 * @returns lines joined by `\n`, without a final one
 */
export function renderTable(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headers.map((header) => width(header));
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, width(cell));
    });
  }
  const rule = `+${widths.map((columnWidth) => '-'.repeat(columnWidth + 2)).join('+')}+`;
  const line = (cells: readonly string[]) =>
    `| ${widths.map((columnWidth, column) => pad(cells[column] ?? '', columnWidth)).join(' | ')} |`;
  return [rule, line(headers), rule, ...rows.map(line), rule].join('\n');
}
