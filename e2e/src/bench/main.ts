import { mkdir, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { measureColdStart } from './cold-start.js';
import { ELASTIC_PROBES } from './elastic-probes.js';
import { ELASTIC_SCENARIOS } from './elastic-scenarios.js';
import { describeFinding, type Finding } from './finding.js';
import { measureHistory } from './history.js';
import { measureImageBuilds } from './image-builds.js';
import { measureIncus } from './incus-launches.js';
import { measureLeases } from './leases.js';
import { measureLogging } from './logging.js';
import { measure, measureIdle, measureStart, measureTakeovers, type Measurement, type Scenario } from './scenarios.js';

const SCENARIOS: Scenario[] = [
  {
    name: '1 in flight',
    server: 'zookeeper',
    labels: ['a'],
    inFlight: 1,
    requests: 2000,
    slots: { a: 10 },
    floor: true,
  },
  {
    name: '10 in flight',
    server: 'zookeeper',
    labels: ['a'],
    inFlight: 10,
    requests: 4000,
    slots: { a: 40 },
    floor: true,
  },
  {
    name: '100 in flight',
    server: 'zookeeper',
    labels: ['a'],
    inFlight: 100,
    requests: 6000,
    slots: { a: 300 },
    floor: true,
  },
  {
    name: '500 in flight',
    server: 'zookeeper',
    labels: ['a'],
    inFlight: 500,
    requests: 8000,
    slots: { a: 1200 },
    floor: true,
  },
  {
    name: '2 labels, 10 in flight',
    server: 'zookeeper',
    labels: ['a', 'b'],
    inFlight: 10,
    requests: 2000,
    slots: { a: 40, b: 40 },
  },
  {
    name: '10 labels, 10 in flight',
    server: 'zookeeper',
    labels: [...'aaaaabbbbb'],
    inFlight: 10,
    requests: 500,
    slots: { a: 200, b: 200 },
  },
  {
    name: '10 in flight, 5000 waiting',
    server: 'zookeeper',
    labels: ['a'],
    inFlight: 10,
    requests: 4000,
    slots: { a: 40 },
    waiting: 5000,
  },
  {
    name: '10 in flight, 10000 nodes',
    server: 'zookeeper',
    labels: ['a'],
    inFlight: 10,
    requests: 4000,
    slots: { a: 10_000 },
  },
  {
    name: 'embedded, 10 in flight',
    server: 'embedded',
    labels: ['a'],
    inFlight: 10,
    requests: 4000,
    slots: { a: 40 },
    floor: true,
  },
  {
    name: 'embedded, 500 in flight',
    server: 'embedded',
    labels: ['a'],
    inFlight: 500,
    requests: 8000,
    slots: { a: 1200 },
    floor: true,
  },
  ...ELASTIC_SCENARIOS,
];

/** Target of the launcher relative to the floor of the same run. */
interface Goal {
  /** Minimum requests a second, in percent. */
  share?: number;
  /** Maximum p50 and CPU, as factors. */
  p50?: number;
  cpu?: number;
}

const GOALS: Readonly<Record<string, Goal>> = {
  '1 in flight': { p50: 1.3, cpu: 2.5 },
  '10 in flight': { share: 75, cpu: 2.5 },
  '500 in flight': { share: 75, cpu: 2.5 },
  'elastic, 10 in flight': { share: 60 },
};

/** Scenarios whose CPU for each request is compared with another one. */
const CPU_BESIDE: readonly (readonly [name: string, base: string, wanted?: string])[] = [
  ['10 in flight, 5000 waiting', '10 in flight'],
  ['10 in flight, 10000 nodes', '10 in flight'],
  ['cloud quota 20, 100 in flight', 'elastic, 10 in flight', ' (wanted: at most 1.5)'],
  ['max-servers 20, 100 in flight', 'elastic, 10 in flight', ' (wanted: at most 1.5)'],
];

function wantedText({ share, p50, cpu }: Goal = {}): string {
  const parts = [
    ...(share === undefined ? [] : [`at least ${share} %`]),
    ...(p50 === undefined ? [] : [`at most ${p50} times its p50`]),
    ...(cpu === undefined ? [] : [`at most ${cpu} times its CPU`]),
  ];
  return parts.length === 0 ? '' : ` (wanted: ${parts.join(', ')})`;
}

const COLUMNS: [string, (m: Measurement) => string][] = [
  ['scenario', (m) => m.scenario],
  ['subject', (m) => m.subject],
  ['req/s', (m) => m.requestsPerSecond.toFixed(0)],
  ['fulfil p50', (m) => m.fulfilMs.p50.toFixed(1)],
  ['p95', (m) => m.fulfilMs.p95.toFixed(1)],
  ['p99 ms', (m) => m.fulfilMs.p99.toFixed(1)],
  ['back p50', (m) => m.takenBackMs.p50.toFixed(1)],
  ['p99 ms', (m) => m.takenBackMs.p99.toFixed(1)],
  ['ZK req', (m) => m.zkRequestsPerRequest.toFixed(1)],
  ['ZK ops', (m) => m.zkOperationsPerRequest.toFixed(1)],
  ['CPU ms', (m) => m.cpuMsPerRequest.toFixed(2)],
  ['RSS MiB', (m) => m.rssMib.toFixed(0)],
  ['overtook', (m) => (m.mostInstances === undefined ? '' : String(m.overtaking))],
  ['instances', (m) => String(m.mostInstances ?? '')],
];

const NAMES = [
  ...[...SCENARIOS, ...ELASTIC_PROBES].map(({ name }) => name),
  ...['logging', 'history', 'leases', 'images', 'cold', 'start', 'takeover', 'idle', 'incus'],
];

const values = readOptions();
const chosen = values.only?.split(';');
const wanted = (name: string) => chosen === undefined || chosen.includes(name);

const measurements: Measurement[] = [];
for (const scenario of SCENARIOS.filter(({ name }) => wanted(name))) {
  process.stderr.write(`measuring: ${scenario.name}\n`);
  measurements.push(...(await measure(scenario)));
}
const findings: Finding[] = [];
for (const probe of ELASTIC_PROBES.filter(({ name }) => wanted(name))) {
  process.stderr.write(`measuring: ${probe.name}\n`);
  findings.push(...(await probe.run(values)));
}
if (wanted('logging')) findings.push(...(await measureLogging()));
if (wanted('history')) findings.push(...(await measureHistory()));
if (wanted('leases')) findings.push(...(await measureLeases(values.long)));
if (wanted('images')) findings.push(...(await measureImageBuilds()));
if (wanted('cold')) findings.push(...(await measureColdStart(values.beside)));
// starts a real LXD, as root, so only if it is asked for
if (chosen?.includes('incus')) findings.push(...(await measureIncus(values.long ? 30 : 10)));
const startMs = wanted('start') ? await measureStart() : undefined;
const takeoverMs = wanted('takeover') ? await measureTakeovers() : undefined;
const idle = wanted('idle') ? await measureIdle(10_000, Number(values.idle)) : undefined;

print(measurements);
for (const line of ratios(measurements)) console.log(line);
for (const finding of findings) console.log(describeFinding(finding));
if (startMs !== undefined) console.log(`start to /ready: ${startMs.toFixed(0)} ms`);
if (takeoverMs) {
  const { p50, p99 } = takeoverMs;
  console.log(
    `lost launcher's session ended to its request fulfilled: p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`,
  );
}
if (idle) {
  console.log(`restart over ${idle.nodes} nodes: ${idle.restartMs.toFixed(0)} ms`);
  console.log(
    `idle with ${idle.nodes} nodes: ${idle.idleCpuMsPerMinute.toFixed(0)} ms CPU per minute, ${idle.rssMib.toFixed(0)} MiB`,
  );
}
await mkdir(values.out, { recursive: true });
const file = `${values.out}/${new Date().toISOString().replaceAll(':', '-')}.json`;
await writeFile(file, `${JSON.stringify({ measurements, findings, startMs, takeoverMs, idle }, undefined, 2)}\n`);
console.log(`written: ${file}`);

/** Options of the command line. Prints usage and exits for `--help` and for unknown names. */
function readOptions() {
  try {
    const { values: given } = parseArgs({
      options: {
        help: { type: 'boolean', default: false },
        only: { type: 'string' },
        idle: { type: 'string', default: '60' },
        long: { type: 'boolean', default: false },
        beside: { type: 'string' },
        out: { type: 'string', default: 'bench-results' },
      },
    });
    const unknown = given.only?.split(';').filter((name) => !NAMES.includes(name)) ?? [];
    if (unknown.length > 0) throw new Error(`No measurement is called "${unknown.join('", "')}"`);
    if (!(Number(given.idle) > 0)) throw new Error(`--idle takes seconds, not "${given.idle}"`);
    if (!given.help) return given;
    console.log(usage());
    return process.exit(0);
  } catch (error) {
    console.error(`${(error as Error).message}\n${usage()}`);
    return process.exit(2);
  }
}

function usage(): string {
  return [
    'usage: npm run bench -- [--only "NAME;NAME"] [--idle SECONDS] [--long] [--beside CHECKOUT] [--out FOLDER]',
    `names: ${NAMES.join('; ')}`,
  ].join('\n');
}

function print(rows: readonly Measurement[]): void {
  const cells = [COLUMNS.map(([title]) => title), ...rows.map((row) => COLUMNS.map(([, text]) => text(row)))];
  const widths = COLUMNS.map((_, i) => Math.max(...cells.map((line) => line[i]?.length ?? 0)));
  for (const line of cells)
    console.log(
      line.map((text, i) => (i < 2 ? text.padEnd(widths[i] ?? 0) : text.padStart(widths[i] ?? 0))).join('  '),
    );
}

function* ratios(rows: readonly Measurement[]): Generator<string> {
  for (const floor of rows.filter((row) => row.subject === 'floor')) {
    const launcher = rows.find((row) => row.scenario === floor.scenario && row.subject === 'launcher');
    if (!launcher) continue;
    const share = (launcher.requestsPerSecond / floor.requestsPerSecond) * 100;
    const cpu = launcher.cpuMsPerRequest / floor.cpuMsPerRequest;
    const p50 = launcher.fulfilMs.p50 / floor.fulfilMs.p50;
    yield (
      `${floor.scenario}: launcher at ${share.toFixed(0)} % of the floor's requests/s, ${p50.toFixed(2)} times its p50, ` +
      `${cpu.toFixed(1)} times its CPU${wantedText(GOALS[floor.scenario])}`
    );
  }
  for (const { scenario, shareOfCapacity } of rows) {
    if (shareOfCapacity === undefined) continue;
    yield `${scenario}: ${(shareOfCapacity * 100).toFixed(0)} % of what the slots can carry`;
  }
  const launcherIn = (scenario: string) => rows.find((row) => row.scenario === scenario && row.subject === 'launcher');
  for (const [name, baseName, wanted = ''] of CPU_BESIDE) {
    const base = launcherIn(baseName);
    const row = launcherIn(name);
    if (base && row)
      yield `${name}: ${(row.cpuMsPerRequest / base.cpuMsPerRequest).toFixed(2)} times the CPU of "${baseName}"${wanted}`;
  }
}
