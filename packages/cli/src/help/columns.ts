/** A text in lines of at most this many characters; a word that is longer has a line of its own. */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

/** No left column is wider: a longer entry has a line of its own. */
const WIDEST = 26;

/** Two columns, indented by two blanks, the right one wrapped. */
export function twoColumns(rows: readonly (readonly [string, string])[], width: number): string {
  const left = Math.min(WIDEST, Math.max(0, ...rows.map(([entry]) => entry.length)));
  const indent = ' '.repeat(left + 4);
  return rows
    .flatMap(([entry, text]) => {
      const lines = wrapText(text, Math.max(20, width - indent.length));
      if (entry.length > left) return [`  ${entry}`, ...lines.map((line) => indent + line)];
      return lines.map((line, index) => (index === 0 ? `  ${entry.padEnd(left)}  ${line}` : indent + line));
    })
    .join('\n');
}
