import { type ChildProcess, execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { setTimeout as delay } from 'node:timers/promises';
import { ensureDebianPackages } from '@nodepool/test-servers';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { killOriginal, startOriginal } from '../original-launcher.js';
import { SOON_MS } from '../soon.js';
import { type StaticSetup, simpleSetup } from '../static-config.js';
import { useStatic } from '../use-harness.js';

const PYTHON = '/usr/bin/python3';
const LEAST_JOBS = 200;
const KILLS = 10;
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

/** Results of a kazoo client. */
interface Story {
  jobs: number;
  counts: Record<string, number>;
  problems: string[];
}

interface NodeBody {
  hostname: string;
  connection_port: number;
  slot: number | null;
}

/** Starts a process that takes the same steps as a launcher of the original. */
async function start(name: string): Promise<ChildProcess> {
  const hosts = get().zookeeper.connectString;
  const child = await startOriginal({ hosts, name, labels: ['shared', 'theirs'], most: 4 });
  originals.add(child);
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  originals.delete(child);
  await killOriginal(child);
}

/** Runs jobs, sequentially and in parallel, until `end` is called. */
function runJobs(): { end: () => void; story: Promise<Story> } {
  const labels = ['ours', 'theirs', 'shared'].flatMap((label) => ['--label', label]);
  const hosts = ['--hosts', get().zookeeper.connectString];
  const what = ['--least-jobs', String(LEAST_JOBS), '--workers', '12', '--timeout', String(SOON_MS / 1_000)];
  const requestor = run(PYTHON, [script('original_requestor'), ...hosts, ...what, ...labels]);
  const story = requestor.then(({ stdout }) => JSON.parse(stdout) as Story);
  return { end: () => requestor.child.stdin?.end(), story };
}

/** Host and slot number of each node record that our launcher made. */
async function ourSlots(): Promise<string[]> {
  const { zk } = get();
  const ids = await zk.getChildren('/nodepool/nodes');
  const read = await zk.multiRead(ids.map((id) => ({ read: 'data', path: `/nodepool/nodes/${id}` })));
  const bodies = read.flatMap((each) =>
    each.read === 'data' && each.data.length > 0 ? [JSON.parse(each.data.toString()) as NodeBody] : [],
  );
  return bodies.map((body) => `${body.hostname}:${body.connection_port}#${body.slot}`).sort();
}

function setup(): StaticSetup {
  const nodes = get().sshd.hosts.map((host) => ({ host, labels: ['shared', 'ours'], maxParallelJobs: 2 }));
  return simpleSetup(nodes, { zookeeperTimeoutSeconds: 1.5 });
}

it('no request of a kazoo client is lost, failed or served twice while launchers of both kinds are killed in turn', async () => {
  const ours = [await get().launch(setup()), await get().launch(setup())];
  const theirs = [await start('original-0'), await start('original-1')];
  const { end, story } = runJobs();

  for (let kills = 0; kills < KILLS; kills++) {
    await Promise.race([delay(PAUSE_BETWEEN_KILLS_MS), story]); // rejects when the requestor breaks
    const which = (kills >> 1) % 2;
    if (kills % 2 === 0) {
      await ours[which]?.kill();
      ours[which] = await get().launch(setup(), { name: `ours-${kills}` });
    } else {
      await kill(theirs[which] as ChildProcess);
      theirs[which] = await start(`original-${kills}`);
    }
  }
  end();
  const { jobs, counts, problems } = await story;
  const slots = get().sshd.hosts.flatMap(({ address, port }) => [0, 1].map((slot) => `${address}:${port}#${slot}`));
  await expect.poll(ourSlots, { timeout: SOON_MS }).toEqual(slots.sort());
  await Promise.all([...originals].map(kill));

  expect(problems).toEqual([]);
  expect(jobs).toBeGreaterThanOrEqual(LEAST_JOBS);
  expect(counts['fulfilled']).toBe(jobs);
  expect(counts['revised']).toBeGreaterThan(0);
  expect(counts).not.toHaveProperty('not found for locking');
}, 600_000);
