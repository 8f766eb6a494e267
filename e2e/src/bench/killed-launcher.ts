import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type ZooKeeper } from '@nodepool/zk-protocol';
import { FakeCloudProcess } from '../fake-cloud.js';
import { cloudConfig } from './cloud-config.js';
import type { Finding } from './finding.js';
import { LeanClient } from './lean-client.js';
import { percentiles } from './process-usage.js';
import { withServer } from './scenarios.js';
import { startLauncher, type Subject } from './subjects.js';

const LAUNCHERS = 4;
const IN_FLIGHT = 50;
const WARM_UP_MS = 5_000;
const POOLS = '/nodepool/components/pool';

/** When a request was submitted and fulfilled, by `performance.now()`. */
interface Served {
  readonly beginMs: number;
  readonly endMs: number;
}

/**
 * One of several launchers is killed in the middle of a load: from the end of its session until the requests that wait then,
 * which are those that it had accepted, are fulfilled by the others.
 */
export async function measureKilledLauncher(): Promise<Finding[]> {
  return withServer('zookeeper', async (connectString, dir) => {
    const cloud = await FakeCloudProcess.start(join(dir, 'cloud'));
    const subjects: Subject[] = [];
    const zk = await connect({ servers: connectString, sessionTimeoutMs: 30_000 });
    try {
      for (let i = 1; i <= LAUNCHERS; i++) {
        const setup = { name: `cloud-${i}` };
        const config = (port: number) => cloudConfig(connectString, cloud.dir, setup, port);
        subjects.push(await startLauncher(join(dir, setup.name), config));
      }
      return describe(await loadWhileKilling(zk, subjects[0]));
    } finally {
      await Promise.all(subjects.map((subject) => subject.kill('SIGKILL')));
      await zk.close();
      await cloud.stop();
    }
  });
}

/** @returns how long the requests that waited when the session had ended waited from then on, in ms */
async function loadWhileKilling(zk: ZooKeeper, victim: Subject | undefined): Promise<number[]> {
  const client = new LeanClient(zk, ['a']);
  await client.start();
  const served: Served[] = [];
  const stop = new AbortController();
  const lane = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const beginMs = performance.now();
      const grant = await client.obtain();
      served.push({ beginMs, endMs: beginMs + grant.fulfilMs });
      await Promise.all(grant.nodes.map((node) => client.use(node)));
    }
  };
  const load = Promise.all(Array.from({ length: IN_FLIGHT }, lane));
  await Promise.race([load, delay(WARM_UP_MS)]);
  const ended = sessionEnd(zk, await poolOf(zk, 'cloud-1'));
  await victim?.kill('SIGKILL');
  const endMs = await Promise.race([ended, load.then(() => Infinity)]);
  stop.abort();
  await load;
  return served.filter((one) => one.beginMs < endMs && one.endMs > endMs).map((one) => one.endMs - endMs);
}

async function poolOf(zk: ZooKeeper, provider: string): Promise<string> {
  for (const name of await zk.getChildren(POOLS)) {
    const { data } = await zk.getData(`${POOLS}/${name}`);
    if ((JSON.parse(data.toString()) as { provider_name: string }).provider_name === provider)
      return `${POOLS}/${name}`;
  }
  throw new Error(`no pool of ${provider} is registered`);
}

/** The pool goes with the session. */
async function sessionEnd(zk: ZooKeeper, path: string): Promise<number> {
  const gone = new EventTarget();
  if (!(await zk.exists(path, () => gone.dispatchEvent(new Event('gone'))))) throw new Error(`${path} is gone already`);
  await once(gone, 'gone');
  return performance.now();
}

function describe(waitedMs: readonly number[]): Finding[] {
  const { p50 } = percentiles(waitedMs);
  const finding = (text: string, value: number, unit: string, wanted?: string): Finding => ({
    what: `launcher killed: ${text}`,
    ...{ value, unit },
    ...(wanted !== undefined && { wanted }),
  });
  return [
    finding("requests that waited at its session's end", waitedMs.length, ''),
    finding("session's end to fulfilment p50", p50, 'ms'),
    finding("session's end to the last one fulfilled", Math.max(0, ...waitedMs), 'ms', 'under 1000'),
  ];
}
