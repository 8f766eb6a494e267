import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger, type Config, type Logger } from '@nodepool/core';
import { loadConfig } from '@nodepool/core/config';
import { FEATURES, Launcher } from '@nodepool/core/launcher';
import { registryOf, VirtualClock } from '@nodepool/core/testing';
import {
  encodeNode,
  encodeRequest,
  LEASE_REQUESTOR,
  newNode,
  newRequest,
  nodePath,
  NODES_ROOT,
  requestCreatePath,
  withNode,
  withRequest,
  type NodeId,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import { connectInMemory, MemoryServer } from '@nodepool/zk-protocol/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SLOT_MS } from './demand.js';
import { standbyTargets } from './standby-targets.js';

let directory: string;
let path: string;
let clock: VirtualClock;
let server: MemoryServer;
let client: ZooKeeper;
let launcher: Launcher;
let targets: ReturnType<typeof standbyTargets>;
let warnings: string[];
const logger: Logger = { ...silentLogger, warn: (message) => void warnings.push(message) };

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nodepool-standby-'));
  path = join(directory, 'demand.jsonl');
  clock = new VirtualClock(1_000 * SLOT_MS + 60_000);
  warnings = [];
});
afterEach(async () => {
  await launcher.stop();
  await rm(directory, { recursive: true });
});

async function configOf(standby: string, others: readonly string[] = []): Promise<Config> {
  const file = join(directory, 'nodepool.yaml');
  const labels = ['small', ...others].map(
    (name) => `{name: ${name}, min-ready: 1${standby && `, standby: ${standby}`}}`,
  );
  await writeFile(file, `labels: [${labels.join(', ')}]\nproviders: []\n`);
  return loadConfig({ file, mode: 'service', drivers: registryOf() });
}

const connect = () => connectInMemory(server, { clock, random: () => 0.5, sessionTimeoutMs: 86_400_000 }).zk;

/** Starts a launcher with the record of an earlier one, and another database. */
async function start(standby = 'auto', others: readonly string[] = []): Promise<void> {
  const config = await configOf(standby, others);
  server = new MemoryServer(clock, undefined, { maxSessionTimeoutMs: 86_400_000 });
  client = connect();
  targets = standbyTargets({ logger, path });
  const features = { ...FEATURES, standby: targets.make };
  const parts = { zk: connect(), clock, config, registry: registryOf(), logger: silentLogger, features };
  launcher = new Launcher({ ...parts, hostname: 'nl01', version: '1', random: () => 0.5 });
  await clock.run(launcher.start());
  if (standby !== '') await known();
}

/** The file is read. */
async function known(): Promise<void> {
  await expect.poll(() => targets.curves()[0]).toBeDefined();
}

const level = () => targets.curves()[0];

async function ask(count: number, requestor = 'zuul'): Promise<string[]> {
  const body = encodeRequest(newRequest({ labels: ['small'], requestor }, clock.now()));
  const asked = Array.from({ length: count }, () => client.create(requestCreatePath(200), body, { sequential: true }));
  const paths = await clock.run(Promise.all(asked));
  await clock.advance(1_000);
  return paths;
}

async function fulfil(requests: readonly string[]): Promise<void> {
  const now = clock.now();
  const body = withRequest(newRequest({ labels: ['small'], requestor: 'zuul' }, now), { state: 'fulfilled' }, now);
  await clock.run(Promise.all(requests.map((request) => client.setData(request, encodeRequest(body)))));
  await clock.advance(1_000);
}

/** Lets time pass, with two requests in each quarter of an hour. */
async function pass(slots: number): Promise<void> {
  for (let i = 0; i < slots; i++) {
    const requests = await ask(2);
    await clock.run(Promise.all(requests.map((request) => client.delete(request))));
    await clock.advance(SLOT_MS - 1_000);
  }
}

async function change(id: NodeId, state: 'building' | 'ready'): Promise<void> {
  const node = newNode({ state: 'init', provider: 'elsewhere', pool: 'main', labels: ['small'] }, clock.now());
  const body = encodeNode(withNode(node, { state }, clock.now()));
  if (state === 'ready') await clock.run(client.setData(nodePath(id), body));
  else await clock.run(client.ensurePath(NODES_ROOT).then(() => client.create(nodePath(id), body)));
}

describe('standby nodes by demand', () => {
  it('fit what came once there is enough of it, and follow the last hour', async () => {
    await start();
    const first = level();

    await pass(16);

    expect(first).toMatchObject({ nodes: 1, isFallback: true });
    expect(level()).toMatchObject({ nodes: 2, isFallback: false });
    expect(level()?.reason).toContain('requests needed 2 at once during the last 1 h 0 min');
  });

  it('are decided for each of many labels', async () => {
    const names = Array.from({ length: 25 }, (_, at) => `label-${at}`);
    await start('{follow: 1h}', names);
    await clock.advance(10);

    expect(targets.curves().map(({ label }) => label)).toEqual(['small', ...names]);
  });

  it('follow a request at once', async () => {
    await start('{follow: 1h}');

    await ask(3);

    expect(level()).toMatchObject({ nodes: 3 });
  });

  it('are shown for the last day, also after a restart', async () => {
    await start();
    await pass(16);
    const before = level();
    await expect.poll(() => readFile(path, 'utf8')).toContain('{"slot":1015,"needs"');
    await launcher.stop();
    await start();

    expect(before?.slots).toHaveLength(96);
    expect(before?.slots.at(-2)).toEqual({ beginMs: 1_015 * SLOT_MS, kept: 2, needed: 2 });
    expect(before?.slots[0]).toMatchObject({ kept: undefined, needed: undefined });
    expect(level()?.slots.at(-2)).toEqual(before?.slots.at(-2));
    expect(level()).toMatchObject({ nodes: 2, isFallback: false });
  });

  it('are known after a crash, but for half a minute', async () => {
    await start('{follow: 1h}');
    await ask(3);
    await clock.advance(30_000);
    await expect.poll(() => readFile(path, 'utf8').catch(() => '')).toContain('"partial":true');
    await launcher.stop();
    await start('{follow: 1h}');

    expect(level()).toMatchObject({ nodes: 3 });
  });

  it('do not count requests of launchers, and count leases', async () => {
    await start('{follow: 1h}');

    await ask(40, 'NodePool:min-ready');
    const others = level()?.nodes;
    await ask(4, LEASE_REQUESTOR);

    expect([others, level()?.nodes]).toEqual([1, 4]);
  });

  it('learn how long a launch takes', async () => {
    await start('{schedule: [{cron: "15 * * * *", for: 1m, nodes: 6}], time-zone: UTC}');
    const toQuarter = SLOT_MS - (clock.now() % SLOT_MS);
    await change('0000000001' as NodeId, 'building');
    await clock.advance(6 * 60_000);
    await change('0000000001' as NodeId, 'ready');

    await clock.advance(toQuarter - 6 * 60_000 - 5 * 60_000 - 30_000);

    expect(level()?.nodes).toBe(6); // five and a half minutes ahead
  });

  it('are kept by what a reload says', async () => {
    await start('');
    const without = targets.curves();

    await clock.run(launcher.reconfigure(await configOf('{follow: 1h}')));
    await known();
    await ask(2);
    const followed = level()?.nodes;
    await clock.run(launcher.reconfigure(await configOf('')));

    expect([without, followed, targets.curves()]).toEqual([[], 2, []]);
  });

  it('are a condition when a week misses the goal', async () => {
    await start();
    const requests = await ask(60);
    await clock.advance(200_000); // more than half of a launch
    await fulfil(requests.slice(0, 30));
    const few = launcher.conditions.find().filter(({ type }) => type === 'StandbyGoalMissed');
    await fulfil(requests.slice(30));

    expect(few).toEqual([]);
    expect(launcher.conditions.find()).toContainEqual(
      expect.objectContaining({ type: 'StandbyGoalMissed', name: 'small', evidence: { atOnce: 0, all: 60, goal: 95 } }),
    );
  });
});

describe('min-ready applies', () => {
  it('when the record is damaged, which is logged', async () => {
    await writeFile(path, 'no json\n');

    await start();

    expect(level()).toMatchObject({ nodes: 1, isFallback: true });
    expect(warnings).toEqual(['Skipping damaged lines of recorded demand']);
  });

  it('when the record cannot be read or written, until there is enough in memory', async () => {
    await mkdir(path);
    await start();
    const first = level();

    await pass(16);

    expect(first).toMatchObject({ nodes: 1, isFallback: true });
    expect(level()).toMatchObject({ nodes: 2, isFallback: false });
    expect(warnings[0]).toBe('Could not read the recorded demand; it is counted again');
    await expect.poll(() => warnings.at(-1)).toBe('Could not record the demand; it is known until a restart');
  });

  it('when the clock went back', async () => {
    await start();
    await pass(16);
    await expect.poll(() => readFile(path, 'utf8')).toContain('{"slot":1015,"needs"');
    await launcher.stop();
    clock = new VirtualClock(clock.now() - 8 * SLOT_MS);

    await start();

    expect(level()?.reason).toContain('the clock has jumped');
  });
});
