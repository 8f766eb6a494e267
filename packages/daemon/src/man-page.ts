import { optionEntry, roff, tagged } from '@nodepool/core/service';
import { serviceOptions, type CommandLine, type CommonArguments } from './arguments.js';

const SIGNALS = [
  [
    'TERM, INT, USR1',
    'Accepts no new work, finishes work in progress within --drain-timeout, and exits with status 0.',
  ],
  ['QUIT', 'Stops at once, and leaves work in progress to another process, such as the next one.'],
  ['one of these again', 'Exits immediately with status 0.'],
  ['HUP', 'Reloads the configuration; work in progress continues.'],
  ['USR2', 'Writes the state to the debug log and starts a CPU profile; the next USR2 writes the profile.'],
] as const;

const STATUSES = [
  ['0', 'It was stopped.'],
  ['1', 'It failed to start or hit a fatal error; see the end of the log.'],
  ['2', 'The command line is invalid.'],
] as const;

/** Placeholders for the values of options; others use N. */
const VALUES: Readonly<Record<string, string>> = {
  ...{ c: 'FILE', s: 'FILE', l: 'FILE', p: 'FILE', 'state-dir': 'DIR', 'drain-timeout': 'SECONDS' },
};

/** Generates the man page of a service from the options of its `--help`. */
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
    roff('Without -f or -d it runs as a daemon with a pid file; use -f under a service manager.'),
    '.SH OPTIONS',
    ...options,
    '.SH SIGNALS',
    ...SIGNALS.map(([signal, text]) => tagged(roff(signal), text)),
    '.SH EXIT STATUS',
    ...STATUSES.map(([status, text]) => tagged(roff(status), text)),
    '.SH ENVIRONMENT',
    tagged('\\fBSTATSD_HOST, STATSD_PORT\\fR', 'Address of the statsd daemon; one of them is enough.'),
    tagged('\\fBNOTIFY_SOCKET, WATCHDOG_USEC\\fR', 'Set by systemd.'),
    '.SH FILES',
    tagged('\\fI/etc/nodepool/nodepool.yaml\\fR', 'Default configuration.'),
    tagged(`\\fI${roff(pidFile)}\\fR`, 'Default pid file of the daemon.'),
    '.SH SEE ALSO',
    '\\fBnodepool\\fR(1)',
  ].join('\n')}\n`;
}

const dashed = (flag: string) => (flag.length === 1 ? `-${flag}` : `--${flag}`);
