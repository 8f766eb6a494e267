import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startZooKeeper, type ZooKeeperHandle } from '@nodepool/test-servers';
import { FakeCloudProcess } from '../fake-cloud.js';
import { openSession } from '../session.js';
import { ZuulClient } from '../zuul-client.js';
import { cloudConfig } from './cloud-config.js';
import { describeFinding, type Finding } from './finding.js';
import { percentiles } from './process-usage.js';
import { startLauncher, THIS_CHECKOUT, type Subject } from './subjects.js';

const LAUNCHERS = 3;
const NODES = 300;
const WAITING = 100;
const BOOT_S = 30;
const AWAY_MS = 60_000;
/** The client outlives every outage. */
const SESSION_MS = 300_000;
const SERVED_MS = 400_000;

const LAYOUTS = ['shared', 'one each'] as const;
const EVENTS = ['none', 'upgrade', 'killed', 'away'] as const;

/** `shared`: all launchers have the one provider; `one each`: each has a provider of its own, for a share of the nodes. */
type Layout = (typeof LAYOUTS)[number];
/** What happens to the launchers while the first requests' instances boot. `away`: ZooKeeper is down. */
type Event = (typeof EVENTS)[number];

interface Outcome {
  readonly waitedMs: readonly number[];
  readonly failed: number;
  readonly thrownAway: number;
}

/** A request, and when it was submitted. */
interface Asked {
  readonly id: string;
  readonly beganMs: number;
}

/** One run: servers, cloud and launchers. */
interface Ground {
  readonly dir: string;
  readonly zookeeper: ZooKeeperHandle;
  readonly cloud: FakeCloudProcess;
  readonly launchers: Subject[];
  readonly layout: Layout;
}

/**
 * Launches in progress and requests that wait, while launchers are upgraded or killed one after another, or ZooKeeper is away: what
 * the requests waited beside a run without that, how many failed, and what the cloud made in vain.
 */
export async function measureLaunchesInProgress(): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const layout of LAYOUTS) {
    let undisturbed: Outcome | undefined;
    for (const event of EVENTS) {
      const outcome = await run(layout, event);
      undisturbed ??= outcome;
      const some = [
        ...describe(`launches in progress, ${layout}, ${event}`, outcome, event === 'away' ? outcome : undisturbed),
      ];
      process.stderr.write(some.map((finding) => `${describeFinding(finding)}\n`).join(''));
      findings.push(...some);
    }
  }
  return findings;
}

function* describe(name: string, { waitedMs, failed, thrownAway }: Outcome, beside: Outcome): Generator<Finding> {
  const p99 = percentiles(waitedMs).p99;
  yield { what: `${name}: instances thrown away`, value: thrownAway, unit: '', wanted: '0' };
  yield { what: `${name}: failed requests`, value: failed, unit: '', wanted: '0' };
  yield { what: `${name}: wait p50`, value: percentiles(waitedMs).p50, unit: 'ms' };
  yield { what: `${name}: wait p99`, value: p99, unit: 'ms' };
  if (beside.waitedMs === waitedMs) return;
  const moreMs = p99 - percentiles(beside.waitedMs).p99;
  yield { what: `${name}: p99 more than undisturbed`, value: moreMs, unit: 'ms', wanted: 'at most 1000' };
}

async function run(layout: Layout, event: Event): Promise<Outcome> {
  const dir = await mkdtemp(join(tmpdir(), 'nodepool-bench-'));
  const zookeeper = await startZooKeeper({ maxSessionTimeoutMs: SESSION_MS });
  const cloud = await FakeCloudProcess.start(join(dir, 'cloud'));
  const ground: Ground = { dir, zookeeper, cloud, launchers: [], layout };
  try {
    for (let i = 1; i <= LAUNCHERS; i++) ground.launchers.push(await start(ground, i));
    return await serve(ground, event);
  } finally {
    await Promise.all(ground.launchers.map((launcher) => launcher.kill('SIGKILL')));
    await cloud.stop();
    await zookeeper.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

function start({ dir, zookeeper, cloud, layout }: Ground, i: number, replaces?: Subject) {
  const provider = layout === 'shared' ? { name: 'cloud', maxServers: NODES } : shareOf(i);
  const setup = { ...provider, settings: { 'create-time': BOOT_S } };
  const config = (port: number) => cloudConfig(zookeeper.connectString, cloud.dir, setup, port);
  return startLauncher(join(dir, `launcher-${i}`), config, THIS_CHECKOUT, replaces);
}

function shareOf(i: number) {
  return { name: `cloud-${i}`, maxServers: NODES / LAUNCHERS };
}

async function serve(ground: Ground, event: Event): Promise<Outcome> {
  const made = new Set<string>();
  ground.cloud.onChange(({ id }) => void made.add(id));
  const zuul = new ZuulClient(await openSession(ground.zookeeper, SESSION_MS));
  const used = new Set<string>();
  let failed = 0;
  const submit = (count: number) => Promise.all(Array.from({ length: count }, () => submitOne(zuul)));
  const job = async ({ id, beganMs }: Asked): Promise<number> => {
    if ((await zuul.wait(id, SERVED_MS)).state !== 'fulfilled') failed++;
    const waitedMs = performance.now() - beganMs;
    for (const node of await zuul.accept(id)) {
      used.add(String(node.body.external_id));
      await zuul.use([node]);
      await zuul.giveBack([node]);
    }
    return waitedMs;
  };
  const underWay = await submit(NODES);
  await ground.cloud.until((instances) => instances.length === NODES);
  const waiting = await submit(WAITING);
  const [waitedMs] = await Promise.all([Promise.all([...underWay, ...waiting].map(job)), disturb(ground, event)]);
  await zuul.zk.close();
  return { waitedMs, failed, thrownAway: [...made].filter((id) => !used.has(id)).length };
}

async function submitOne(zuul: ZuulClient): Promise<Asked> {
  const beganMs = performance.now();
  return { id: await zuul.submit(['a']), beganMs };
}

async function disturb(ground: Ground, event: Event): Promise<void> {
  const { zookeeper, launchers } = ground;
  if (event === 'away') {
    await zookeeper.kill();
    await delay(AWAY_MS);
    await zookeeper.restart();
  }
  if (event !== 'upgrade' && event !== 'killed') return;
  for (const [index, old] of [...launchers].entries()) {
    if (event === 'killed') await old.kill('SIGKILL');
    launchers[index] = await start(ground, index + 1, event === 'upgrade' ? old : undefined);
  }
}
