import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { cloudConfig } from './cloud-config.js';
import type { Finding } from './finding.js';
import type { LoadResult } from './lean-client.js';
import { cpuMs, rssMib } from './process-usage.js';
import { withServer } from './scenarios.js';
import { runLoad, startLauncher, staticConfig, THIS_CHECKOUT, type Subject } from './subjects.js';

const ROUNDS = 5;

/** A load on launchers that have just started. */
interface ColdLoad {
  name: string;
  launchers: number;
  requests: number;
  inFlight: number;
  /** Each launcher gets a fake cloud of its own instead of static slots. */
  elastic: boolean;
}

const LOADS: readonly ColdLoad[] = [
  { name: 'cold, static', launchers: 1, requests: 2500, inFlight: 10, elastic: false },
  { name: 'cold, elastic', launchers: 1, requests: 2000, inFlight: 10, elastic: true },
  { name: 'cold, elastic, 4 launchers', launchers: 4, requests: 2000, inFlight: 10, elastic: true },
];

/** One figure in all rounds, for this checkout and for the one beside it. */
interface Series {
  what: string;
  unit: string;
  values: number[];
  beside: number[];
}

/**
 * Costs of launchers that have just started: the first requests are measured, without any before them, then later ones.
 * @param besideCheckout - root of another built checkout; its launcher runs in turn with this one's
 */
export async function measureColdStart(besideCheckout?: string): Promise<Finding[]> {
  const all = new Map<string, Series>();
  for (let round = 0; round < ROUNDS; round++) {
    for (const load of LOADS) {
      for (const checkout of [THIS_CHECKOUT, ...(besideCheckout === undefined ? [] : [besideCheckout])]) {
        for (const { what, value, unit } of await measureLoad(load, checkout)) {
          const series = all.get(what) ?? { what, unit, values: [], beside: [] };
          all.set(what, series);
          (checkout === THIS_CHECKOUT ? series.values : series.beside).push(value);
        }
      }
    }
  }
  return [...all.values()].flatMap((series) => [...describe(series)]);
}

/** The least value of all rounds: other work on the machine only adds to it. */
function* describe({ what, unit, values, beside }: Series): Generator<Finding> {
  const least = Math.min(...values);
  yield { what, value: least, unit };
  if (beside.length === 0) return;
  const wanted = 'at most 1';
  yield { what: `${what}, other checkout`, value: Math.min(...beside), unit };
  yield { what: `${what}, ratio`, value: least / Math.min(...beside), unit: 'times', wanted };
  yield { what: `${what}, ratio of medians`, value: median(values) / median(beside), unit: 'times', wanted };
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function measureLoad(load: ColdLoad, checkout: string): Promise<Finding[]> {
  return withServer('zookeeper', async (connectString, dir) => {
    const clouds: ChildProcess[] = [];
    const subjects: Subject[] = [];
    try {
      for (let n = 1; n <= load.launchers; n++) {
        const cloudDir = join(dir, `cloud-${n}`);
        if (load.elastic) clouds.push(await startCloud(checkout, cloudDir));
        const config = (port: number) =>
          load.elastic
            ? cloudConfig(connectString, cloudDir, { name: `cloud-${n}` }, port)
            : staticConfig(connectString, { a: 40 }, port);
        subjects.push(await startLauncher(join(dir, String(n)), config, checkout));
      }
      return await measureRequests(load, connectString, subjects);
    } finally {
      await Promise.all(subjects.map((subject) => subject.kill('SIGKILL')));
      for (const cloud of clouds) cloud.kill();
    }
  });
}

/** Measures the first requests, then the warm launcher: as many requests again, after as many that are not measured. */
async function measureRequests(
  load: ColdLoad,
  connectString: string,
  subjects: readonly Subject[],
): Promise<Finding[]> {
  const { name, requests } = load;
  const pids = subjects.map(({ pid }) => pid);
  const cold = await measurePhase(load, connectString, pids, 0);
  const memory = sum(await Promise.all(pids.map(rssMib))) / pids.length;
  const warm = await measurePhase(load, connectString, pids, requests);
  return [
    { what: `${name}: CPU a request`, value: cold.cpu / requests, unit: 'ms' },
    { what: `${name}: fulfilment p50`, value: cold.p50, unit: 'ms' },
    { what: `${name}: memory of a launcher`, value: memory, unit: 'MiB' },
    { what: `${name}: CPU until ready`, value: cold.cpuBefore / pids.length, unit: 'ms' },
    { what: `${name}: start to /ready`, value: Math.min(...subjects.map(({ startMs }) => startMs)), unit: 'ms' },
    { what: `${name}: CPU a request, warm`, value: warm.cpu / requests, unit: 'ms' },
    { what: `${name}: fulfilment p50, warm`, value: warm.p50, unit: 'ms' },
  ];
}

/** @returns CPU of all launchers before and during the measured requests, and their p50; all in ms */
async function measurePhase(
  { requests, inFlight }: ColdLoad,
  connectString: string,
  pids: readonly number[],
  warmUp: number,
): Promise<{ cpuBefore: number; cpu: number; p50: number }> {
  const cpuNow = async () => sum(await Promise.all(pids.map(cpuMs)));
  let cpuBefore = 0;
  const result = await runLoad<LoadResult>(
    { connectString, labels: ['a'], inFlight, requests, warmUp },
    async () => void (cpuBefore = await cpuNow()),
  );
  return { cpuBefore, cpu: (await cpuNow()) - cpuBefore, p50: result.fulfilMs.p50 };
}

/** Starts the fake cloud of that checkout, as each speaks its own protocol. It ends by itself should this process be killed. */
async function startCloud(checkout: string, dir: string): Promise<ChildProcess> {
  const program = join(checkout, 'packages/driver-fake/bin/nodepool-fake-cloud.js');
  const args = [program, '--dir', dir, '--idle-timeout', '60', 'serve'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return child;
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}
