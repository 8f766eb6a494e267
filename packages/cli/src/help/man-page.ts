import { optionEntry, roff, sentence, tagged } from '@nodepool/core/service';
import type { Command } from '../command/command.js';
import { EXIT_STATUSES } from '../command/exit-status.js';
import { GENERAL_OPTIONS, READING_OPTIONS } from '../command/global-options.js';
import { argumentRows, optionRows, usageWords } from './option-rows.js';
import type { OptionRow } from './option-rows.js';

function entryOf({ flags, value, describe, note }: OptionRow): string {
  return optionEntry(flags, value, note === undefined ? describe : `${describe} (${note})`);
}

function commandEntry({ name, usage, summary, positionals, options, reads, takesRest }: Command): string {
  const words = usageWords(usage);
  const rest = takesRest === true ? ' \\-\\- \\fICOMMAND ARGS\\fR' : '';
  const line = `\\fBnodepool ${roff(name)}\\fR${words === '' ? '' : ` \\fI${roff(words)}\\fR`} [options]${rest}`;
  const args = argumentRows(usage, positionals).map((row) =>
    tagged(`\\fI${roff(row.name)}\\fR`, sentence(row.describe)),
  );
  const also = reads === true ? ['.PP', 'Also takes the options of listings.'] : [];
  return [`.SS ${line}`, roff(sentence(summary)), ...args, ...optionRows(options ?? {}).map(entryOf), ...also].join(
    '\n',
  );
}

/** The man page nodepool(1), made from the same tables as `--help`. */
export function manPage(commands: readonly Command[]): string {
  return `${[
    '.TH NODEPOOL 1 "" "Nodepool" "User Commands"',
    '.SH NAME',
    'nodepool \\- list, request and manage nodes',
    '.SH SYNOPSIS',
    '.B nodepool',
    '.I COMMAND',
    '[options]',
    '.SH DESCRIPTION',
    'Lists and manages the nodes and requests of Nodepool, and hands out nodes to people and scripts.',
    'ZooKeeper is found through the configuration; without one, the embedded server of a launcher on this machine is used.',
    '.SH COMMANDS',
    ...commands.map(commandEntry),
    '.SH OPTIONS OF EVERY COMMAND',
    ...optionRows(GENERAL_OPTIONS).map(entryOf),
    '.SH OPTIONS OF LISTINGS',
    ...optionRows(READING_OPTIONS).map(entryOf),
    '.SH EXIT STATUS',
    ...EXIT_STATUSES.map(([status, meaning]) => tagged(roff(status), sentence(meaning))),
    '.SH ENVIRONMENT',
    tagged('\\fBNO_COLOR\\fR', 'Disables colours if it is not empty.'),
    '.SH FILES',
    tagged('\\fI/etc/nodepool/nodepool.yaml\\fR', 'The configuration, unless another one is named.'),
  ].join('\n')}\n`;
}
