import type { Command, CommandGroup } from '../command/command.js';
import { EXIT_STATUSES } from '../command/exit-status.js';
import { GENERAL_OPTIONS, READING_OPTIONS } from '../command/global-options.js';
import { argumentRows, optionRows, usageWords } from './option-rows.js';
import type { OptionRow } from './option-rows.js';

/** Longer lines are hard to read, however wide the terminal is. */
const WIDEST = 100;
const NARROWEST = 60;

/** Width of help for a terminal with this many columns; `undefined`: no terminal. */
export function helpWidth(columns: number | undefined): number {
  return Math.max(NARROWEST, Math.min(WIDEST, columns ?? WIDEST));
}

/** What `nodepool --help` prints. */
export function overviewText(groups: readonly CommandGroup[], width: number): string {
  const commands = groups.flatMap((group) => [`${group.title}:`, commandColumns(group, width), '']);
  return [
    'Usage: nodepool COMMAND [options]',
    '',
    ...commands,
    'Options:',
    optionColumns(optionRows(GENERAL_OPTIONS), width),
    '',
    'Exit status:',
    twoColumns(EXIT_STATUSES, width),
    '',
    "'nodepool COMMAND --help' shows the options of a command.",
  ].join('\n');
}

function commandColumns({ commands }: CommandGroup, width: number): string {
  return twoColumns(
    commands.map(({ name, usage, summary }) => [`${name} ${usageWords(usage)}`.trim(), summary]),
    width,
  );
}

/** What `nodepool COMMAND --help` prints. */
export function commandText(command: Command, width: number): string {
  const { name, usage, summary, positionals, options = {}, reads, takesRest } = command;
  const rest = takesRest === true ? ' -- COMMAND ARGS' : '';
  const own = { ...options, ...(reads === true ? READING_OPTIONS : {}) };
  const parts = [
    `Usage: nodepool ${`${name} ${usageWords(usage)}`.trim()} [options]${rest}`,
    wrapText(`${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`, width).join('\n'),
  ];
  const args = argumentRows(usage, positionals);
  if (args.length > 0) {
    const rows = args.map(({ name: argument, describe }) => [argument, describe] as const);
    parts.push(`Arguments:\n${twoColumns(rows, width)}`);
  }
  if (Object.keys(own).length > 0) parts.push(`Options:\n${optionColumns(optionRows(own), width)}`);
  parts.push(`Options of every command:\n${optionColumns(optionRows(GENERAL_OPTIONS), width)}`);
  return parts.join('\n\n');
}

function optionColumns(rows: readonly OptionRow[], width: number): string {
  return twoColumns(
    rows.map(({ flags, value, describe, note }) => [
      `${flags[0]?.length === 2 ? '' : '    '}${flags.join(', ')}${value === undefined ? '' : ` ${value}`}`,
      note === undefined ? describe : `${describe} [${note}]`,
    ]),
    width,
  );
}

/** A text in lines of at most this many characters; a word that is longer has a line of its own. */
function wrapText(text: string, width: number): string[] {
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

/** A longer entry has a line of its own. */
const WIDEST_LEFT_COLUMN = 26;

/** Two columns, indented by two blanks, the right one wrapped. */
function twoColumns(rows: readonly (readonly [string, string])[], width: number): string {
  const left = Math.min(WIDEST_LEFT_COLUMN, Math.max(0, ...rows.map(([entry]) => entry.length)));
  const indent = ' '.repeat(left + 4);
  return rows
    .flatMap(([entry, text]) => {
      const lines = wrapText(text, Math.max(20, width - indent.length));
      if (entry.length > left) return [`  ${entry}`, ...lines.map((line) => indent + line)];
      return lines.map((line, index) => (index === 0 ? `  ${entry.padEnd(left)}  ${line}` : indent + line));
    })
    .join('\n');
}
