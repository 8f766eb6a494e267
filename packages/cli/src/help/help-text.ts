import type { Command, CommandGroup } from '../command/command.js';
import { EXIT_STATUSES } from '../command/exit-status.js';
import { GENERAL_OPTIONS, READING_OPTIONS } from '../command/global-options.js';
import { twoColumns, wrapText } from './columns.js';
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
