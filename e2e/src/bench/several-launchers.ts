import { join } from 'node:path';
import { FakeCloudProcess, type CloudInstance } from '../fake-cloud.js';
import { cloudConfig } from './cloud-config.js';
import type { Finding } from './finding.js';
import type { LoadResult } from './lean-client.js';
import { cpuMs } from './process-usage.js';
import { withServer } from './scenarios.js';
import { runLoad, startLauncher, staticConfig, type Subject } from './subjects.js';

const COUNTS = [1, 2, 4, 8];
const IN_FLIGHT = 50;
/** Requests for each launcher, after a warm-up that is long enough to compile the code. */
const REQUESTS_EACH = 1500;
const WARM_UP_EACH = 1000;
const SLOTS = { a: 200 };

/** Cost of several launchers together. */
interface Shared {
  launchers: number;
  cpuMsPerRequest: number;
  /** Single operations sent to ZooKeeper. */
  writesPerRequest: number;
  readsPerRequest: number;
  requestsPerSecond: number;
  p50: number;
  p99: number;
  /** Smallest and greatest number of requests that one launcher served, relative to the average. */
  shares: readonly [number, number] | undefined;
}

/** CPU and writes of 2, 4 and 8 launchers relative to one, with a cloud each and with one static provider for all. */
export async function measureSeveralLaunchers(): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const kind of ['clouds', 'static'] as const) {
    let one: Shared | undefined;
    for (const launchers of COUNTS) {
      const shared = await (kind === 'clouds' ? measureClouds(launchers) : measureStatic(launchers));
      one ??= shared;
      findings.push(...describe(kind, shared, one));
    }
  }
  return findings;
}

function* describe(kind: string, shared: Shared, one: Shared): Generator<Finding> {
  const { launchers, cpuMsPerRequest, writesPerRequest, readsPerRequest, requestsPerSecond, p50, p99, shares } = shared;
  const what = (text: string) => `launchers, ${kind}, ${launchers}: ${text}`;
  const wanted = { 1: 1, 2: 1.3, 4: 1.7, 8: 2.5 }[launchers];
  yield { what: what('CPU a request'), value: cpuMsPerRequest, unit: 'ms' };
  yield {
    what: what('CPU beside one launcher'),
    value: cpuMsPerRequest / one.cpuMsPerRequest,
    unit: 'times',
    wanted: `at most ${wanted}`,
  };
  yield { what: what('ZooKeeper reads a request'), value: readsPerRequest, unit: '' };
  yield { what: what('ZooKeeper writes a request'), value: writesPerRequest, unit: '' };
  yield {
    what: what('writes beside one launcher'),
    value: writesPerRequest / one.writesPerRequest,
    unit: 'times',
    wanted: 'at most 1.1',
  };
  yield { what: what('requests a second'), value: requestsPerSecond, unit: '' };
  yield { what: what('fulfilment p50'), value: p50, unit: 'ms' };
  yield { what: what('fulfilment p99'), value: p99, unit: 'ms' };
  if (!shares) return;
  yield { what: what('smallest share of the work'), value: shares[0] * 100, unit: '% of an even one' };
  yield { what: what('greatest share of the work'), value: shares[1] * 100, unit: '% of an even one' };
}

function measureClouds(launchers: number): Promise<Shared> {
  return withServer('zookeeper', async (connectString, dir) => {
    // one for each launcher, as a cloud reports all instances to every client
    const clouds = new Map<string, FakeCloudProcess>();
    try {
      const served = new Map<string, Set<string>>();
      for (const name of namesOf(launchers)) {
        const cloud = await FakeCloudProcess.start(join(dir, `${name}-cloud`));
        clouds.set(name, cloud);
        cloud.onChange(({ instance }) => instance && note(served, instance));
      }
      const config = (name: string) => (port: number) =>
        cloudConfig(connectString, clouds.get(name)?.dir ?? '', { name }, port);
      return await measureTogether(launchers, dir, connectString, config, served);
    } finally {
      await Promise.all([...clouds.values()].map((cloud) => cloud.stop()));
    }
  });
}

/** Launchers and their clouds. */
function namesOf(launchers: number): string[] {
  return Array.from({ length: launchers }, (_, i) => `cloud-${i + 1}`);
}

function note(served: Map<string, Set<string>>, { id, metadata }: CloudInstance): void {
  const provider = metadata['nodepool_provider_name'] ?? '';
  const ids = served.get(provider);
  if (ids) ids.add(id);
  else served.set(provider, new Set([id]));
}

function measureStatic(launchers: number): Promise<Shared> {
  return withServer('zookeeper', (connectString, dir) => {
    const config = () => (port: number) => staticConfig(connectString, SLOTS, port);
    return measureTogether(launchers, dir, connectString, config);
  });
}

async function measureTogether(
  launchers: number,
  dir: string,
  connectString: string,
  config: (name: string) => (port: number) => object,
  served?: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<Shared> {
  const names = namesOf(launchers);
  const subjects: Subject[] = [];
  try {
    for (const name of names) subjects.push(await startLauncher(join(dir, name), config(name)));
    let before = { cpu: 0, writes: 0, reads: 0 };
    const requests = REQUESTS_EACH * launchers;
    const load = { connectString, labels: ['a'], inFlight: IN_FLIGHT, requests, warmUp: WARM_UP_EACH * launchers };
    const result = await runLoad<LoadResult>(load, async () => {
      before = await usedBy(subjects);
    });
    const after = await usedBy(subjects);
    const counts = served && names.map((name) => served.get(name)?.size ?? 0);
    const even = counts && sum(counts) / launchers;
    return {
      launchers,
      cpuMsPerRequest: (after.cpu - before.cpu) / requests,
      writesPerRequest: (after.writes - before.writes) / requests,
      readsPerRequest: (after.reads - before.reads) / requests,
      requestsPerSecond: result.requestsPerSecond,
      p50: result.fulfilMs.p50,
      p99: result.fulfilMs.p99,
      shares: counts && even ? [Math.min(...counts) / even, Math.max(...counts) / even] : undefined,
    };
  } finally {
    await Promise.all(subjects.map((subject) => subject.kill('SIGKILL')));
  }
}

/** CPU and ZooKeeper operations of all subjects so far. */
async function usedBy(subjects: readonly Subject[]) {
  const cpu = await Promise.all(subjects.map(({ pid }) => cpuMs(pid)));
  const traffic = await Promise.all(subjects.map((subject) => subject.traffic()));
  const writes = sum(traffic.map((part) => part.writes));
  return { cpu: sum(cpu), writes, reads: sum(traffic.map(({ operations }) => operations)) - writes };
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}
