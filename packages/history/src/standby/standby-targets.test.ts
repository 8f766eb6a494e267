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
import { connectInMemory, MemoryServer, perfectConditions, type MemoryLink } from '@nodepool/zk-protocol/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SLOT_MS } from './demand.js';
import { standbyTargets } from './standby-targets.js';

let directory: string;
let path: string;
let clock: VirtualClock;
let server: MemoryServer;
let client: ZooKeeper;
let link: MemoryLink;
let canConnect: boolean;
let launcher: Launcher;
let targets: ReturnType<typeof standbyTargets>;
let warnings: string[];
const logger: Logger = { ...silentLogger, warn: (message) => void warnings.push(message) };

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nodepool-standby-'));
  path = join(directory, 'demand.jsonl');
  clock = new VirtualClock(1_000 * SLOT_MS + 60_000);
  warnings = [];
  canConnect = true;
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

function connect() {
  const conditions = { ...perfectConditions, canConnect: () => canConnect };
  return connectInMemory(server, { clock, random: () => 0.5, sessionTimeoutMs: 86_400_000, conditions });
}

/** Starts a launcher with the record of an earlier one, and another database. */
async function start(standby = 'auto', others: readonly string[] = []): Promise<void> {
  const config = await configOf(standby, others);
  server = new MemoryServer(clock, undefined, { maxSessionTimeoutMs: 86_400_000 });
  client = connect().zk;
  const connection = connect();
  link = connection.link;
  targets = standbyTargets({ logger, path });
  const features = { ...FEATURES, 'standby-levels': targets.make };
  const parts = { zk: connection.zk, clock, config, registry: registryOf(), logger: silentLogger, features };
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

async function change(id: NodeId, state: 'building' | 'ready' | 'testing'): Promise<void> {
  const node = newNode({ state: 'init', provider: 'elsewhere', pool: 'main', labels: ['small'] }, clock.now());
  const launchState = state === 'testing' ? { start: true } : null;
  const body = encodeNode(withNode(node, { state, launchState }, clock.now()));
  await clock.run(client.ensurePath(NODES_ROOT));
  const isThere = await clock.run(client.exists(nodePath(id)));
  const write = () => (isThere ? client.setData(nodePath(id), body) : client.create(nodePath(id), body));
  await clock.run<unknown>(write());
}

/** The launcher is not connected during this time. */
async function cutOff(work: () => Promise<unknown>): Promise<void> {
  canConnect = false;
  link.break();
  await work();
  canConnect = true;
  await clock.advance(60_000);
}

const recorded = () => readFile(path, 'utf8').catch(() => '');

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

  it('do not take the start of a stopped node for a launch', async () => {
    const id = '0000000001' as NodeId;
    await start('{follow: 1h}');
    for (const state of ['building', 'ready', 'testing', 'building', 'ready'] as const) {
      await change(id, state);
      await clock.advance(5_000);
    }
    await ask(1);
    await clock.advance(30_000);

    await expect.poll(recorded).toContain('"boots":{"small":[5000]}');
  });

  it('do not count a time without a connection, nor what is read after it', async () => {
    await start('{follow: 1h}');
    await pass(2);
    await cutOff(async () => {
      await ask(5);
      await clock.advance(2 * SLOT_MS);
    });
    const after = level();
    await pass(3);

    expect(after).toMatchObject({ nodes: 2 });
    expect(
      level()
        ?.slots.slice(-8, -1)
        .map(({ needed }) => needed),
    ).toEqual([2, 2, undefined, undefined, 2, 2, 2]);
    const whole = async () => [...(await recorded()).matchAll(/"slot":(\d+),"needs"/g)].map(([, slot]) => slot);
    await expect.poll(whole).toEqual(['1001', '1005', '1006']);
  });

  it('do not take a slot for whole that lacks what came during a short break', async () => {
    await start('{follow: 1h}');
    await pass(1);
    await clock.advance(5_000);
    await cutOff(() => ask(3));
    await pass(2);

    await expect.poll(recorded).toContain('{"slot":1002,"needs"');
    expect(await recorded()).not.toContain('{"slot":1001,"needs"');
  });

  it('begin again when a label comes back', async () => {
    await start('auto', ['other']);
    await pass(16);
    const before = level();
    const without = await configOf('auto', ['other']);
    const labels = new Map([...without.labels].filter(([name]) => name !== 'small'));
    await clock.run(launcher.reconfigure({ ...without, labels }));
    await clock.run(launcher.reconfigure(without));
    await known();

    expect(before).toMatchObject({ nodes: 2, isFallback: false });
    expect(level()).toMatchObject({ nodes: 1, isFallback: true });
  });

  it('do not count after a restart what a run of the schedule was for', async () => {
    await start('{schedule: [{cron: "5 * * * *", for: 5m, nodes: 9, until: consumed}], follow: 1h, time-zone: UTC}');
    await clock.advance(4 * 60_000);
    await ask(9);
    await ask(2);
    await clock.advance(30_000);
    await expect.poll(recorded).toContain('"unscheduled":{"small":[1,1]}');
    await launcher.stop();
    await start('{follow: 1h}');

    expect(level()).toMatchObject({ nodes: 2 });
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

  it('for an hour after the clock went back, also over restarts', async () => {
    await start();
    await pass(16);
    clock.set(clock.now() + 400 * 96 * SLOT_MS);
    await pass(4);
    clock.set(clock.now() - 400 * 96 * SLOT_MS);
    await pass(2);
    const soon = level();
    await pass(4);
    const later = level();
    await expect.poll(recorded).toContain('{"slot":1025,"needs"');
    await launcher.stop();
    await start();

    expect(soon?.reason).toContain('the clock has jumped');
    for (const reason of [later?.reason, level()?.reason]) {
      expect(reason).toContain('requests needed 2 at once');
      expect(reason).not.toContain('nothing is fitted yet');
    }
  });

  it('only until the clock is set right, when it was ahead at the start', async () => {
    await start();
    await pass(16);
    await expect.poll(recorded).toContain('{"slot":1015,"needs"');
    await launcher.stop();
    const rightMs = clock.now();
    clock.set(rightMs + 400 * 96 * SLOT_MS);
    await start();
    const wrong = level();
    clock.set(rightMs);
    await clock.advance(60_000);

    expect(wrong).toMatchObject({ isFallback: true });
    expect(level()).toMatchObject({ nodes: 2, isFallback: false });
  });
});
