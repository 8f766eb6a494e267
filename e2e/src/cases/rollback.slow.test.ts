import { type ChildProcess, execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ensureDebianPackages } from '@nodepool/test-servers';
import { newControl, storeControl } from '@nodepool/zk-protocol';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { oneProvider } from '../elastic-config.js';
import { children } from '../inventory.js';
import type { LauncherProcess } from '../launcher-process.js';
import { LEASE_TOKEN, Lessee } from '../lessee.js';
import { NodepoolProcess } from '../nodepool-process.js';
import { killOriginal, startOriginal, stopOriginal } from '../original-launcher.js';
import { SOON_MS } from '../soon.js';
import { useElastic } from '../use-harness.js';

/** Minutes of load, all phases together; 60 for an hour of mixed load in both directions. */
const MINUTES = Number(process.env['NODEPOOL_MIXED_MINUTES'] ?? 1.5);
/** Each kind alone, both together, twice. */
const PHASE_MS = (MINUTES * 60_000) / 6;
const MIN_READY = 2;
const MOST = 12;
/** The jobs use the first; ours alone have a stopped spare of the second, and an order that pauses the third. */
const LABELS = ['small', 'kept', 'slow'];
const WORKERS = 4;
const LESSEES = 2;
/** Several lists, reuse, launches one after another. */
const ANSWER_S = 240;
const SECURE = { 'api-tokens': [{ name: 'e2e', token: LEASE_TOKEN }] };
const script = fileURLToPath(new URL('../../python/original_requestor.py', import.meta.url));

const get = useElastic();
const originals = new Set<ChildProcess>();
const requestors = new Set<ChildProcess>();

beforeAll(() => ensureDebianPackages(['python3-kazoo']));
afterEach(() => Promise.all([...originals, ...requestors].map(killOriginal)));

/** Results of the jobs. */
interface Story {
  readonly jobs: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly problems: readonly string[];
}

interface StoredNode {
  readonly state?: string;
}

const setupOf = (isStopped: boolean) =>
  oneProvider(
    { labels: LABELS, maxServers: MOST },
    {
      cloudSettings: { 'create-time': 0.5, 'start-time': 0.2, 'stop-time': 0.2, 'delete-time': 0.2 },
      labels: {
        small: { 'min-ready': MIN_READY, standby: { keep: isStopped ? 'stopped' : 'running' } },
        kept: { 'min-ready': 1, standby: { keep: isStopped ? 'stopped' : 'running' } },
      },
    },
  );

async function startBeside(): Promise<ChildProcess> {
  const { zookeeper, cloud } = get();
  const shares = { provider: 'cloud-one', cloudDir: cloud.dir };
  const original = await startOriginal({
    ...{ hosts: zookeeper.connectString, name: 'original', labels: ['small'], most: MOST, minReady: MIN_READY, shares },
  });
  originals.add(original);
  return original;
}

/** Jobs of Zuul until `end` is called. */
function runJobs(): { readonly end: () => void; readonly story: Promise<Story> } {
  const hosts = ['--hosts', get().zookeeper.connectString, '--label', 'small'];
  const what = ['--least-jobs', '1', '--workers', `${WORKERS}`, '--timeout', `${ANSWER_S}`];
  const requestor = promisify(execFile)('/usr/bin/python3', [script, ...hosts, ...what]);
  requestors.add(requestor.child);
  const story = requestor.then(({ stdout }) => JSON.parse(stdout) as Story);
  return { end: () => requestor.child.stdin?.end(), story };
}

/** Leases over HTTP and orders to hold nodes, until the load is over, or no launcher of ours runs. @returns the number of leases served */
async function runLessees(launchers: ReadonlySet<LauncherProcess>, load: { isOver: boolean }): Promise<number> {
  let served = 0;
  const lessee = new Lessee(() => [...launchers].map(({ webPort }) => webPort));
  const one = async () => {
    while (launchers.size > 0 && !load.isOver) {
      try {
        const lease = await lessee.lease(['small'], undefined, { ttl: 20, give_up: 30 });
        if (lease.state === 'active') {
          served++;
          await orderHold(lease.nodes[0]?.id);
          await delay(200);
          await lessee.end(lease.id);
        }
      } catch (error) {
        if (launchers.size > 0) throw error; // else the last launcher was stopped meanwhile
      }
    }
  };
  await Promise.all(Array.from({ length: LESSEES }, one));
  return served;
}

async function orderHold(node: string | undefined): Promise<void> {
  if (node === undefined) return;
  const [nowMs, subject] = [Date.now(), { kind: 'node', name: node } as const];
  await storeControl(get().zk, newControl({ ...subject, mode: 'hold', owner: 'bob', endTimeMs: nowMs + 5_000 }, nowMs));
}

async function statesOf(): Promise<Record<string, number>> {
  const { zk } = get();
  const counts: Record<string, number> = {};
  for (const id of await children(zk, '/nodepool/nodes')) {
    const found = await zk.getData(`/nodepool/nodes/${id}`).catch(() => undefined);
    const { state = 'empty' } = JSON.parse(found?.data.toString() || '{}') as StoredNode;
    counts[state] = (counts[state] ?? 0) + 1;
  }
  return counts;
}

/** What is not yet as at rest: requests, nodes that are not ready, and too few that are. */
function missingAtRest([requests, { ready = 0, ...others }]: [string[], Record<string, number>]): string[] {
  return [...requests, ...Object.keys(others), ...(ready > MIN_READY ? [] : [`${ready} ready`])];
}

const nodepool = (of: LauncherProcess, ...args: string[]) => NodepoolProcess.start(['-c', of.configFile, ...args]);

/** What only launchers of ours would finish: stopped spares, a lease that waits, an order. */
async function leaveMuch(ours: LauncherProcess): Promise<string> {
  await expect.poll(statesOf, { timeout: SOON_MS }).toEqual({ testing: MIN_READY + 1 });
  const order = newControl({ kind: 'label', name: 'slow', mode: 'pause', owner: 'bob' }, Date.now());
  await storeControl(get().zk, order);
  const body = { labels: ['slow'], ttl: 60 };
  const answer = await Lessee.send(ours.webPort, 'POST', '/leases', body, 'waits');
  return ((await answer.json()) as { readonly id: string }).id;
}

/** Rolls back beside a running original. */
async function rollBack(ours: LauncherProcess, running: Set<LauncherProcess>): Promise<string> {
  const check = nodepool(ours, 'rollback', '--check');
  expect(await check.end()).toBe(1);
  expect(check.stdout).toMatch(/waiting leases: [^]*orders: /);
  const command = nodepool(ours, 'rollback', '--yes', '--end-leases');
  await command.whenSaid(/nothing is left: stop the launchers on/);
  running.delete(ours);
  await ours.stop();
  expect(await command.end(), command.stderr).toBe(0);
  return command.stdout;
}

it(
  'with everything on, the original serves all after a rollback, and ours again after the way in',
  async () => {
    const running = new Set<LauncherProcess>();
    const first = await get().launch(setupOf(true), { name: 'first', secure: SECURE });
    running.add(first);
    const lease = await leaveMuch(first);
    const jobs = runJobs();
    const lessees = runLessees(running, { isOver: false });
    await Promise.race([delay(PHASE_MS), jobs.story]);

    const original = await startBeside();
    await Promise.race([delay(PHASE_MS), jobs.story]);
    await Promise.race([delay(PHASE_MS), jobs.story]);
    const output = await rollBack(first, running);
    const served = await lessees;
    const [orders, spares] = [await children(get().zk, '/nodepool/controls/label'), (await statesOf())['testing'] ?? 0];
    await Promise.race([delay(PHASE_MS), jobs.story]);
    jobs.end();
    const story = await jobs.story;
    await expect.poll(statesOf, { timeout: SOON_MS }).toEqual({ ready: expect.any(Number) as number });
    // the original may request nodes for its min-ready
    const left = (await children(get().zk, '/nodepool/requests')).filter((id) => !id.startsWith('900-'));

    const again = runJobs();
    const second = await get().launch(setupOf(true), { name: 'second', secure: SECURE });
    running.add(second);
    const load = { isOver: false };
    const lesseesAgain = runLessees(running, load);
    await Promise.race([delay(PHASE_MS), again.story]);
    originals.delete(original);
    await stopOriginal(original);
    await Promise.race([delay(PHASE_MS), again.story]);
    again.end();
    const storyAgain = await again.story;
    load.isOver = true;
    const servedAgain = await lesseesAgain;
    await get().reconfigure(second, setupOf(false));
    console.log(
      JSON.stringify({ minutes: MINUTES, story, storyAgain, served, servedAgain, mostInstances: get().cloud.most }),
    );

    for (const { jobs: all, counts, problems } of [story, storyAgain]) {
      expect(problems).toEqual([]);
      expect(counts['fulfilled']).toBe(all);
    }
    expect([served > 0, servedAgain > 0, orders, spares, left]).toEqual([true, true, [], 0, []]);
    expect(output).toContain('Done: no launcher of this project is left');
    expect((await new Lessee(() => [second.webPort]).get(lease)).state).toBe('ended');
    // the launcher removes orders for nodes that are gone after a minute, at its next sweep
    await expect.poll(() => children(get().zk, '/nodepool/controls/node'), { timeout: 240_000 }).toEqual([]);
    // those of the labels' min-ready; surplus free nodes of the original stay until requests take them
    const missing = () => Promise.all([children(get().zk, '/nodepool/requests'), statesOf()]).then(missingAtRest);
    await expect.poll(missing, { timeout: 2 * SOON_MS }).toEqual([]);
    get().standby = (await statesOf())['ready'] ?? 0;
  },
  MINUTES * 60_000 + 600_000,
);
