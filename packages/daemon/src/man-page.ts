import { optionEntry, roff, tagged } from '@nodepool/core/service';
import { serviceOptions, type CommandLine, type CommonArguments } from './arguments.js';

const SIGNALS = [
  [
    'TERM, INT, USR1',
    'Accepts nothing more, finishes what is under way within --drain-timeout, and ends with status 0.',
  ],
  ['the same again', 'Ends at once, with status 0.'],
  ['HUP', 'Reads the configuration again; what is under way continues.'],
  ['USR2', 'Writes the state to the debug log and begins a CPU profile; the next one writes the profile.'],
] as const;

const STATUSES = [
  ['0', 'It was stopped.'],
  ['1', 'It could not start, or something is broken beyond repair; the last lines of the log say what.'],
  ['2', 'The command line cannot be understood.'],
] as const;

/** Names of values by option; the others have their type. */
const VALUES: Readonly<Record<string, string>> = {
  ...{ c: 'FILE', s: 'FILE', l: 'FILE', p: 'FILE', 'state-dir': 'DIR', 'drain-timeout': 'SECONDS' },
};

/** The man page of a service, made from the same table as its `--help`. */
export function serviceManPage<Args extends CommonArguments>(line: CommandLine<Args>): string {
  const { name, does, pidFile } = line;
  const options = Object.entries(serviceOptions(line)).map(
    ([option, { type, alias, default: value, describe = '' }]) => {
      const written = value === true ? `no-${option}` : option;
      const flags = [alias, written].flat().filter((flag) => flag !== undefined);
      const argument = type === 'boolean' ? undefined : (VALUES[option] ?? 'N');
      const note = value === undefined || typeof value === 'boolean' ? '' : ` (default ${String(value)})`;
      return optionEntry(flags.map(dashed), argument, `${describe}${note}`);
    },
  );
  return `${[
    `.TH ${name.toUpperCase().replaceAll('-', '\\-')} 8 "" "Nodepool" "System Administration"`,
    '.SH NAME',
    `${roff(name)} \\- ${roff(does.charAt(0).toLowerCase() + does.slice(1).replace(/\.$/, ''))}`,
    '.SH SYNOPSIS',
    `.B ${roff(name)}`,
    '[options]',
    '.SH DESCRIPTION',
    roff(does),
    roff('Without -f or -d it runs as a daemon with a pid file; a service manager is given -f.'),
    '.SH OPTIONS',
    ...options,
    '.SH SIGNALS',
    ...SIGNALS.map(([signal, text]) => tagged(roff(signal), text)),
    '.SH EXIT STATUS',
    ...STATUSES.map(([status, text]) => tagged(roff(status), text)),
    '.SH ENVIRONMENT',
    tagged('\\fBSTATSD_HOST, STATSD_PORT\\fR', 'Where metrics are sent; one of them is enough.'),
    tagged('\\fBNOTIFY_SOCKET, WATCHDOG_USEC\\fR', 'As systemd sets them.'),
    '.SH FILES',
    tagged('\\fI/etc/nodepool/nodepool.yaml\\fR', 'The configuration, unless another one is named.'),
    tagged(`\\fI${roff(pidFile)}\\fR`, 'The process id of the daemon, unless another file is named.'),
    '.SH SEE ALSO',
    '\\fBnodepool\\fR(1)',
  ].join('\n')}\n`;
}

const dashed = (flag: string) => (flag.length === 1 ? `-${flag}` : `--${flag}`);
