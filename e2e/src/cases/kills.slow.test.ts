import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Random } from '@nodepool/core/testing';
import { expect, it } from 'vitest';
import { oneProvider } from '../elastic-config.js';
import type { LaunchOptions } from '../harness.js';
import { children } from '../inventory.js';
import { type Fact, findViolations, storyOf } from '../kill-checks.js';
import { KillLoad } from '../kill-load.js';
import type { LauncherProcess } from '../launcher-process.js';
import { LEASE_TOKEN } from '../lessee.js';
import { useElastic } from '../use-harness.js';

/** Minutes of load and strikes; starts and rest take as long again. */
const MINUTES = Number(process.env['NODEPOOL_KILLS_MINUTES'] ?? 0.3);
const SEED = Number(process.env['NODEPOOL_KILLS_SEED'] ?? Date.now() % 1_000_000);
const SESSION_S = 6;
const LAUNCHERS = ['one', 'two', 'three'];
const MIN_READY = { small: 2, kept: 3 };
const MOST_TRIES = 5;
const LESSEES = 8;
const JOBS = 4;
/** Nodes of launchers that were killed are found by sweeps, each minute. */
const REST_MS = 150_000;
const SECURE = { 'api-tokens': [{ name: 'e2e', token: LEASE_TOKEN }] };

const get = useElastic({ tickMs: 200, minSessionTimeoutMs: 1_000 });

const setupOf = (keep: 'stopped' | 'running') =>
  oneProvider(
    { labels: ['small', 'kept'], maxServers: 20 },
    {
      more: { 'zookeeper-timeout': SESSION_S },
      cloudSettings: {
        ...{ 'create-time': { uniform: [3, 6] }, 'start-time': 0.2, 'stop-time': 0.5, 'delete-time': 0.3 },
        ...{ 'api-time': { uniform: [0, 0.1] }, 'answer-time': { exponential: 0.2 } },
        failures: { 'connection-reset': 0.03 },
      },
      labels: { small: { 'min-ready': MIN_READY.small }, kept: { 'min-ready': MIN_READY.kept, standby: { keep } } },
    },
  );

const STRIKES = ['SIGKILL', 'SIGKILL', 'SIGSTOP', 'SIGSTOP', 'SIGQUIT', 'SIGTERM'] as const;

/** Launchers, each of which is struck again and again. */
class Victims {
  readonly launchers = new Map<string, LauncherProcess>();
  readonly counts = { SIGKILL: 0, SIGSTOP: 0, SIGQUIT: 0, SIGTERM: 0 };
  readonly #end = new AbortController();
  #keep: 'stopped' | 'running' = 'stopped';

  constructor(
    private readonly facts: Fact[],
    private readonly random: Random,
  ) {}

  /** Starts a launcher; again if it ends, e.g. as a busy ZooKeeper did not answer it in time, as a service manager does. */
  async start(name: string, { replaces, ...options }: Partial<LaunchOptions> = {}): Promise<void> {
    const common = { ...(replaces && { webPort: replaces.webPort }), ...options, name, secure: SECURE };
    for (let tries = 1; ; tries++) {
      try {
        const old = tries === 1 && replaces ? { replaces } : {};
        this.launchers.set(name, await get().launch(setupOf(this.#keep), { ...common, ...old }));
        return;
      } catch (error) {
        if (tries === MOST_TRIES) throw error;
      }
    }
  }

  /** All without stopped spares. A stop whose answer was lost keeps its node away for ten minutes, or until its launcher has ended. */
  async restartAll(): Promise<void> {
    this.#keep = 'running';
    const restart = (each: LauncherProcess) => each.kill().then(() => this.start(each.name, { webPort: each.webPort }));
    await Promise.all([...this.launchers.values()].map(restart));
  }

  end(): void {
    this.#end.abort();
  }

  /** Strikes one until the end, and leaves it running. */
  async strike(name: string): Promise<void> {
    for (;;) {
      await this.#wait(1_000, 12_000);
      const launcher = this.launchers.get(name);
      if (this.#end.signal.aborted || launcher === undefined) return;
      const what = this.random.pick(STRIKES);
      this.counts[what]++;
      this.facts.push({ kind: 'strike', ms: Date.now(), launcher: name, what });
      if (what === 'SIGSTOP') await this.#pause(launcher);
      else if (what === 'SIGQUIT') await this.start(name, { replaces: launcher });
      else {
        await (what === 'SIGKILL' ? launcher.kill() : launcher.stop());
        await this.#wait(0, 4_000);
        await this.start(name, { webPort: launcher.webPort });
      }
      this.facts.push({ kind: 'strike', ms: Date.now(), launcher: name, what: 'runs' });
    }
  }

  /** Shorter and longer than its session lives. */
  async #pause(launcher: LauncherProcess): Promise<void> {
    launcher.pause();
    await this.#wait(5_000, 45_000);
    launcher.resume();
  }

  async #wait(leastMs: number, mostMs: number): Promise<void> {
    await delay(this.random.between(leastMs, mostMs), undefined, { signal: this.#end.signal }).catch(() => undefined);
  }
}

/** Leases, jobs and strikes for a while, then rest. @returns how much of each */
async function runAll(facts: Fact[]): Promise<Record<string, number>> {
  const random = new Random(SEED);
  const victims = new Victims(facts, random.fork());
  await Promise.all(LAUNCHERS.map((name) => victims.start(name)));
  const ports = [...victims.launchers.values()].map(({ webPort }) => webPort);
  const load = new KillLoad(facts, ports, random.fork());
  const work = Promise.all([
    ...LAUNCHERS.map((name) => victims.strike(name)),
    ...Array.from({ length: LESSEES }, () => load.lessee()),
    ...Array.from({ length: JOBS }, async () => load.jobs(await get().newClient())),
  ]);
  await Promise.race([delay(MINUTES * 60_000), work]);
  victims.end();
  load.end();
  await work;
  await victims.restartAll();
  return { ...victims.counts, ...load.counts };
}

/** Waits until nothing is left but free nodes. Those above `min-ready` stay: the next request would take them. @returns problems */
async function rest(): Promise<string[]> {
  const deadline = Date.now() + REST_MS;
  for (;;) {
    const nodes = await children(get().zk, '/nodepool/nodes');
    for (const id of await children(get().zk, '/nodepool/controls/node')) {
      // it ended before a launcher had held the node; launchers remove it after a minute
      if (!nodes.includes(id)) await get().zk.deleteRecursive(`/nodepool/controls/node/${id}`);
    }
    get().standby = Math.max(nodes.length, MIN_READY.small + MIN_READY.kept);
    const left = await get()
      .assertClean(1_000)
      .then(() => undefined, String);
    if (left === undefined || Date.now() > deadline) return left === undefined ? [] : [left];
  }
}

/** Keeps what was seen, and the ends of the logs, where a violation can be studied. */
async function keep(facts: readonly Fact[], stories: readonly string[]): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), `nodepool-kills-${SEED}-`));
  await writeFile(join(dir, 'facts.jsonl'), facts.map((fact) => `${JSON.stringify(fact)}\n`).join(''));
  await writeFile(join(dir, 'stories.txt'), [...stories, await get().story()].join('\n\n'));
  console.error(`all that was seen: ${dir}`);
}

it(
  'machines of users stay, and none is lost, while launchers are killed, stopped and replaced',
  async () => {
    const facts: Fact[] = [];
    get().cloud.onChange(({ id, instance, timeMs }) =>
      facts.push({ kind: 'cloud', ms: timeMs, machine: id, status: instance?.status ?? 'gone' }),
    );
    const figures = await runAll(facts);
    const left = await rest();
    const stories = [...findViolations(facts).map((each) => storyOf(each, facts)), ...left];
    const machines = (status: string) =>
      new Set(facts.flatMap((fact) => (fact.kind === 'cloud' && fact.status === status ? [fact.machine] : []))).size;
    const cloud = { made: machines('building'), stopped: machines('stopped'), deleted: machines('gone') };
    console.log(
      `seed ${SEED}, ${MINUTES} min: ${JSON.stringify({ ...figures, ...cloud, violations: stories.length })}`,
    );
    if (stories.length > 0) await keep(facts, stories);
    expect(stories).toEqual([]);
  },
  MINUTES * 60_000 + 600_000,
);
