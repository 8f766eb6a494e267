import { expect, it } from 'vitest';
import type { ElasticSetup } from '../elastic-config.js';
import type { LauncherProcess } from '../launcher-process.js';
import type { ElasticHarness } from '../elastic-harness.js';
import { whenGone } from '../session.js';
import { useElastic } from '../use-harness.js';
import type { ZuulClient } from '../zuul-client.js';

const SESSION_MS = 3_000;
const STARTS = 9;
const LOSSES = 3;
const POOLS = '/nodepool/components/pool';

/** Rounds mostly wait for processes and sessions, so several lanes run in parallel, each with its own ZooKeeper. */
const lanes = Array.from({ length: 3 }, () => useElastic({ tickMs: 200, minSessionTimeoutMs: 1000 }));

/** Configuration of a launcher with this many pools. No two pools share a label. */
function setupOf(pools: number): ElasticSetup {
  return {
    providers: [
      {
        name: `cloud-${pools}`,
        pools: labelsOf(pools).map((label) => ({ name: `of-${label}`, labels: [label], maxServers: 2 })),
        ...(pools === 1 && { cloudSettings: { 'create-time': 0.05 } }),
      },
    ],
    more: { 'zookeeper-timeout': SESSION_MS / 1000 },
  };
}

function labelsOf(pools: number): string[] {
  return Array.from({ length: pools }, (_, index) => `label-${pools}-${index}`);
}

const SETUPS = [1, 2, 3];
const LABELS = SETUPS.flatMap(labelsOf);

/** Starts the launchers of all setups at the same time. */
function startAll(harness: ElasticHarness, round: number): Promise<LauncherProcess[]> {
  return Promise.all(SETUPS.map((pools) => harness.launch(setupOf(pools), { name: `launcher-${pools}-${round}` })));
}

/** Submits two requests for each label. */
function submitAll(zuul: ZuulClient): Promise<string[]> {
  return Promise.all([...LABELS, ...LABELS].map((label) => zuul.submit([label])));
}

/** Distributes the rounds over the lanes. The rounds of a lane run in sequence. */
async function inLanes(rounds: number, work: (harness: ElasticHarness, rounds: number[]) => Promise<void>) {
  const all = Array.from({ length: rounds }, (_, round) => round);
  await Promise.all(
    lanes.map((get, lane) =>
      work(
        get(),
        all.filter((round) => round % lanes.length === lane),
      ),
    ),
  );
}

async function startWhileRequestsWait(harness: ElasticHarness, rounds: number[]): Promise<void> {
  const zuul = await harness.newClient();
  for (const [turn, round] of rounds.entries()) {
    const ids = await submitAll(zuul);
    const launchers = await startAll(harness, round);
    const answers = await Promise.all(ids.map((id) => zuul.wait(id)));

    expect(answers.map(({ state }) => state)).toEqual(ids.map(() => 'fulfilled'));
    const held = await Promise.all(ids.map((id) => zuul.accept(id)));
    await zuul.use(held.flat());
    await zuul.giveBack(held.flat());
    await harness.assertClean();
    await Promise.all(launchers.map((launcher) => (turn % 2 === 0 ? launcher.kill() : launcher.stop())));
  }
}

async function loseSessionsWhileRequestsWait(harness: ElasticHarness, rounds: number[]): Promise<void> {
  const zuul = await harness.newClient();
  const launchers = await startAll(harness, 0);
  for (let turn = 0; turn < rounds.length; turn++) {
    const held = await Promise.all((await submitAll(zuul)).map((id) => zuul.take(id)));
    const waiting = await submitAll(zuul);
    const logged = launchers.map(({ log }) => log.length);
    const pools = await harness.zk.getChildren(POOLS);
    for (const launcher of launchers) launcher.pause();
    await Promise.all(pools.map((pool) => whenGone(harness.zk, `${POOLS}/${pool}`)));
    for (const launcher of launchers) launcher.resume();
    await Promise.all(launchers.map((launcher, i) => launcher.whenLogged(/Pool is registered/, logged[i])));
    await zuul.giveBack(held.flat());
    const answers = await Promise.all(waiting.map((id) => zuul.wait(id)));

    expect(answers.map(({ state }) => state)).toEqual(waiting.map(() => 'fulfilled'));
    await Promise.all(waiting.map((id) => zuul.finish(id)));
    await harness.assertClean();
  }
}

it('no request fails while launchers with one, two and three pools start together', async () => {
  await inLanes(STARTS, startWhileRequestsWait);
}, 600_000);

it('no request fails when launchers lose their sessions while all nodes are in use', async () => {
  await inLanes(LOSSES, loseSessionsWhileRequestsWait);
}, 300_000);
