import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { setTimeout as delay } from 'node:timers/promises';
import { ensureDebianPackages } from '@nodepool/test-servers';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { type StaticSetup, simpleSetup } from '../static-config.js';
import { useStatic } from '../use-harness.js';

const PYTHON = '/usr/bin/python3';
const JOBS = 500;
const PAUSE_BETWEEN_KILLS_MS = 1_200;
const run = promisify(execFile);
const script = (name: string) => fileURLToPath(new URL(`../../python/${name}.py`, import.meta.url));

const get = useStatic({
  zookeeper: { tickMs: 200, minSessionTimeoutMs: 1000 },
  sshd: { count: 2, keyTypes: ['ed25519'] },
});
const originals = new Set<ChildProcess>();

beforeAll(() => ensureDebianPackages(['python3-kazoo']));

afterEach(async () => {
  await Promise.all([...originals].map(kill));
});

/** What a client made of kazoo has seen. */
interface Story {
  counts: Record<string, number>;
  problems: string[];
}

interface NodeBody {
  hostname: string;
  connection_port: number;
  slot: number | null;
}

/** Starts a launcher of the original's steps, and waits until it is registered. */
async function startOriginal(name: string): Promise<ChildProcess> {
  const labels = ['shared', 'theirs'].flatMap((label) => ['--label', label]);
  const what = ['--hosts', get().zookeeper.connectString, '--name', name, '--provider', 'original', '--most', '4'];
  const child = spawn(PYTHON, [script('original_launcher'), ...what, ...labels], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  originals.add(child);
  await once(child.stdout, 'data');
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  originals.delete(child);
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

async function runJobs(): Promise<Story> {
  const labels = ['ours', 'theirs', 'shared'].flatMap((label) => ['--label', label]);
  const what = ['--hosts', get().zookeeper.connectString, '--jobs', String(JOBS), '--workers', '12', '--timeout', '30'];
  const { stdout } = await run(PYTHON, [script('original_requestor'), ...what, ...labels]);
  return JSON.parse(stdout) as Story;
}

/** Host and slot number of every node record of ours. */
async function ourSlots(): Promise<string[]> {
  const { zk } = get();
  const ids = await zk.getChildren('/nodepool/nodes');
  const read = await zk.multiRead(ids.map((id) => ({ read: 'data', path: `/nodepool/nodes/${id}` })));
  const bodies = read.flatMap((each) => (each.read === 'data' ? [JSON.parse(each.data.toString()) as NodeBody] : []));
  return bodies.map((body) => `${body.hostname}:${body.connection_port}#${body.slot}`).sort();
}

function setup(): StaticSetup {
  const nodes = get().sshd.hosts.map((host) => ({ host, labels: ['shared', 'ours'], maxParallelJobs: 2 }));
  return simpleSetup(nodes, { zookeeperTimeoutSeconds: 1.5 });
}

it('launchers of both kinds are killed in turn, and no request of a kazoo client is lost, failed or served twice', async () => {
  const ours = [await get().launch(setup()), await get().launch(setup())];
  const theirs = [await startOriginal('original-0'), await startOriginal('original-1')];
  let isOver = false;
  const jobs = runJobs().finally(() => (isOver = true));
  let kills = 0;

  for (; !isOver; kills++) {
    await Promise.race([delay(PAUSE_BETWEEN_KILLS_MS), jobs]);
    if (isOver) break;
    const which = (kills >> 1) % 2;
    if (kills % 2 === 0) {
      await ours[which]?.kill();
      ours[which] = await get().launch(setup(), { name: `ours-${kills}` });
    } else {
      await kill(theirs[which] as ChildProcess);
      theirs[which] = await startOriginal(`original-${kills}`);
    }
  }
  const { counts, problems } = await jobs;
  const slots = get().sshd.hosts.flatMap(({ address, port }) => [0, 1].map((slot) => `${address}:${port}#${slot}`));
  await expect.poll(ourSlots, { timeout: 30_000 }).toEqual(slots.sort());
  await Promise.all([...originals].map(kill));

  expect(problems).toEqual([]);
  expect(counts['fulfilled']).toBe(JOBS);
  expect(counts['revised']).toBeGreaterThan(0);
  expect(counts).not.toHaveProperty('not found for locking');
  expect(kills).toBeGreaterThanOrEqual(4);
}, 120_000);
