import { parseArgs } from 'node:util';
import { FAULTS, type FaultName } from './world/faults.js';
import type { Faults } from './world/world.js';
import { INCIDENTS } from './year/incidents.js';

/** The command line is not valid. */
export class UsageError extends Error {}

/** Options of a run over seeds. */
export interface SeedsCommand {
  readonly kind: 'seeds';
  readonly from: number;
  readonly seeds: number;
  readonly trace: boolean;
  readonly keepGoing: boolean;
  readonly faults: Faults;
  /** These faults instead of what each seed draws. */
  readonly only: readonly FaultName[];
}

/** Options of a year of incidents. */
export interface YearCommand {
  readonly kind: 'year';
  readonly seed: number;
  readonly only: string | undefined;
  readonly most: number | undefined;
  readonly oneLauncher: boolean;
  readonly minReady: number;
}

/** Options of days of standby nodes. */
export interface StandbyCommand {
  readonly kind: 'standby';
  readonly seed: number;
  /** The months of a year instead of ten days. */
  readonly year: boolean;
}

const SEEDS_ONLY = ['seeds', 'trace', 'keep-going', 'launcher-faults', 'fault'] as const;
const YEAR_ONLY = ['only', 'most', 'one-launcher', 'min-ready'] as const;

/** Values of `--only`. */
const KINDS = [...INCIDENTS.map(({ name }) => name), 'herd'];

/** Text of `--help`. */
export const USAGE = `Usage: node simulator/dist/main.js [OPTION...]

Runs launchers, ZooKeeper, clouds and clients on a virtual clock, and breaks them. A seed decides everything. Ends with
status 1 when something happened that never may.

  --seeds N      how many runs (default: 100)
  --from S       first seed, or the one of the year (default: 1)
  --keep-going   collect all broken seeds (default: stop at the first)
  --launcher-faults  only launchers fail (default: clouds, clients and operators too)
  --fault NAME   this fault alone (default: what the seed draws); may be repeated
  --trace        print each transaction, log line, fault and change of a cloud (default: off)
  --year         a year of incidents instead, with steering and without (default: off)
  --only NAME    with --year: one kind of incident (default: all), of
                 ${KINDS.join(', ')}
  --most N       with --year: at most N incidents of each kind (default: as many as a year has)
  --one-launcher with --year: one launcher has all regions (default: each has its own)
  --min-ready N  with --year: standby nodes (default: 0)
  --standby      ten traces of demand instead: requests served at once and idle standby nodes of each way (default: off);
                 with --year: each month of a year
  -h, --help     this text

Faults, and the share of the seeds that have them:
${FAULTS.map(({ name, share, text }) => `  ${name.padEnd(15)} ${`${share * 100} %`.padEnd(5)} ${text}`).join('\n')}`;

/**
 * Reads the command line.
 * @throws {UsageError} an unknown option or value
 */
export function parseCommandLine(
  args: readonly string[],
): SeedsCommand | YearCommand | StandbyCommand | { readonly kind: 'help' } {
  const values = parse(args);
  if (values.help) return { kind: 'help' };
  const from = wholeNumber('from', values.from, 0) ?? 1;
  const { only, year, standby } = values;
  if (standby) {
    for (const name of [...SEEDS_ONLY, ...YEAR_ONLY] as const)
      if (values[name] !== undefined) throw new UsageError(`--${name} does not go with --standby`);
    return { kind: 'standby', seed: from, year: year ?? false };
  }
  for (const name of year ? SEEDS_ONLY : YEAR_ONLY) {
    if (values[name] !== undefined) throw new UsageError(`--${name} ${year ? 'does not go with' : 'needs'} --year`);
  }
  const seeds = wholeNumber('seeds', values.seeds, 1) ?? 100;
  if (!year) {
    const faults = values['launcher-faults'] ? 'launchers' : 'all';
    return {
      kind: 'seeds',
      from,
      seeds,
      trace: values.trace ?? false,
      keepGoing: values['keep-going'] ?? false,
      faults,
      only: (values.fault ?? []).map(faultName),
    };
  }
  if (only !== undefined && !KINDS.includes(only))
    throw new UsageError(`--only: there is no incident "${only}"; there are ${KINDS.join(', ')}`);
  const most = wholeNumber('most', values.most, 1);
  const minReady = wholeNumber('min-ready', values['min-ready'], 0) ?? 0;
  return { kind: 'year', seed: from, only, most, oneLauncher: values['one-launcher'] ?? false, minReady };
}

function parse(args: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        seeds: { type: 'string' },
        from: { type: 'string' },
        trace: { type: 'boolean' },
        'keep-going': { type: 'boolean' },
        'launcher-faults': { type: 'boolean' },
        fault: { type: 'string', multiple: true },
        year: { type: 'boolean' },
        only: { type: 'string' },
        most: { type: 'string' },
        'one-launcher': { type: 'boolean' },
        'min-ready': { type: 'string' },
        standby: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    return values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function faultName(text: string): FaultName {
  const fault = FAULTS.find(({ name }) => name === text);
  if (fault) return fault.name;
  throw new UsageError(`--fault: there is no fault "${text}"; there are ${FAULTS.map(({ name }) => name).join(', ')}`);
}

function wholeNumber(name: string, text: string | undefined, least: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value;
  throw new UsageError(`--${name} needs a whole number, ${least} or more, got "${text}"`);
}
