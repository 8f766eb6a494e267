import { Random } from '@nodepool/core/testing';
import { Episode, runHerd, type EpisodeResult, type Setup } from './episode.js';
import { INCIDENTS } from './incidents.js';

/** Fixed launch limits for a burst of requests without steering. */
const FIXED_LIMITS = [20, 40, 80, 160, 500];
const HERD = 500;
/** No request waits this long without an incident. */
const LONG_MS = 120_000;

/** What to simulate. */
export interface YearOptions {
  readonly seed: number;
  /** One kind of incident only. */
  readonly only?: string | undefined;
  /** Maximum number of incidents of each kind. Default: as many as in a year. */
  readonly most?: number | undefined;
  /** Setup of the incidents; a burst has one launcher and no standby nodes. */
  readonly setup?: Setup | undefined;
  /** Called at the end of each incident. */
  readonly progress: (text: string) => void;
}

/** All incidents of one kind, with steering or without. */
interface Row {
  readonly name: string;
  readonly steering: boolean;
  readonly incidents: number;
  readonly results: readonly EpisodeResult[];
}

/**
 * Runs a year of incidents, each with steering and without it, and a burst of requests with several fixed limits.
 * @returns tables in Markdown, and violations
 */
export async function simulateYear(options: YearOptions): Promise<{ text: string; violations: string[] }> {
  const { seed, only } = options;
  const rows: Row[] = [];
  for (const [at, incident] of INCIDENTS.entries()) {
    if (only !== undefined && incident.name !== only) continue;
    for (const steering of [true, false]) rows.push(await runAll(at, steering, options));
  }
  const herd = only === undefined || only === 'herd' ? await runHerds(seed, options.progress) : undefined;
  return {
    text: [...(rows.length > 0 ? [incidentTable(rows)] : []), ...(herd ? [herd.text] : [])].join('\n\n'),
    violations: [
      ...rows.flatMap(({ results }) => results.flatMap(({ violations }) => violations)),
      ...(herd?.violations ?? []),
    ],
  };
}

async function runAll(at: number, steering: boolean, options: YearOptions): Promise<Row> {
  const { seed, most = Infinity, setup, progress } = options;
  const incident = INCIDENTS[at];
  if (!incident) throw new Error(`there is no incident ${at}`);
  const random = new Random(seed * 1_000 + at);
  const results: EpisodeResult[] = [];
  const count = Math.min(most, incident.perYear);
  for (let i = 1; i <= count; i++) {
    const minutes = random.int(...incident.minutes);
    results.push(await new Episode(random.int(1, 1_000_000), steering, setup).run(incident, minutes));
    progress(`${incident.name} ${i} of ${count}, ${minutes} minutes, ${steering ? 'steered' : 'steering off'}`);
  }
  return { name: incident.name, steering, incidents: count, results };
}

function incidentTable(rows: readonly Row[]): string {
  const head = [
    ...['Incident', 'Times', 'Steering', 'Requests', 'Failed', 'Wait p50', 'p95', 'Longest', 'Over 2 minutes'],
    ...['Machines ordered there after the first failed launch', 'Full share again after, at the latest'],
  ];
  return table(head, rows.map(cellsOf));
}

function cellsOf({ name, steering, incidents, results }: Row): string[] {
  const answers = results.flatMap((result) => result.answers);
  const waits = answers.map(({ waitedMs }) => waitedMs);
  const failed = answers.filter(({ isFulfilled }) => !isFulfilled).length;
  const orders = results.reduce((sum, { ordersAfterFirstFailure }) => sum + ordersAfterFirstFailure, 0);
  const recovered = results.map(({ recoveredMs }) => recoveredMs ?? Infinity);
  return [
    ...[name, String(incidents), steering ? 'on' : 'off', String(answers.length), String(failed)],
    ...[seconds(at(waits, 0.5)), seconds(at(waits, 0.95)), seconds(Math.max(...waits))],
    ...[String(waits.filter((ms) => ms > LONG_MS).length), String(orders), seconds(Math.max(...recovered))],
  ];
}

async function runHerds(seed: number, progress: (text: string) => void) {
  const rows: string[][] = [];
  const violations: string[] = [];
  for (const limit of ['ramp', ...FIXED_LIMITS] as const) {
    const result = await runHerd(seed, HERD, limit);
    progress(`herd of ${HERD}, ${limit}`);
    violations.push(...result.violations);
    const failed = result.answers.filter(({ isFulfilled }) => !isFulfilled).length;
    const perMinute = (HERD - failed) / (result.tookMs / 60_000);
    const how = limit === 'ramp' ? 'as launches show' : `${limit}, fixed`;
    rows.push([how, seconds(result.tookMs), perMinute.toFixed(1), String(failed), String(result.mostBooting)]);
  }
  const head = [
    'Launches at once',
    `Until all of ${HERD} are answered`,
    'Served a minute',
    'Failed',
    'Most machines booting',
  ];
  return { text: table(head, rows), violations };
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function at(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

function seconds(ms: number): string {
  return Number.isFinite(ms) ? `${Math.round(ms / 1_000)} s` : 'never';
}
