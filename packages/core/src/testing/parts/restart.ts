import assert from 'node:assert/strict';
import type { Bench, TakenNodes } from '../harness/harness.js';
import type { TestLauncher } from '../harness/launcher.js';
import { launches, type ContractPart, type PartContext, type PartTest } from '../harness/part.js';

/** Several looks for leaks, which it takes two of to be sure. */
const CLEAN_WITHIN_MS = 1_800_000;

/** What is done while the launcher dies. */
interface Work<Prepared> {
  prepare(bench: Bench): Promise<Prepared>;
  run(bench: Bench, prepared: Prepared): Promise<unknown>;
}

/** A launcher that dies leaves nothing behind for good, whenever that is. */
export const restart: ContractPart = {
  name: 'restart',
  applies: launches,
  tests: () => [
    killedDuring('loses nothing of a creation, at whatever moment the launcher dies', {
      prepare: (bench) => bench.labels(),
      run: (bench, [label]) => bench.submit([label]),
    }),
    killedDuring('goes on with a deletion, at whatever moment the launcher dies', {
      prepare: async (bench) => {
        const [label] = await bench.labels();
        return bench.take([label]);
      },
      run: (bench, taken: TakenNodes) => bench.giveBack(taken),
    }),
    {
      name: 'leaves alone what is in use when a new launcher takes over',
      run: async ({ bench }) => {
        const first = await bench.startLauncher();
        const [label] = await bench.labels();
        await bench.take([label]);
        const before = await bench.ids();
        first.kill();
        await bench.startLauncher();
        await bench.pass(600_000);

        assert.deepEqual(await bench.ids(), before);
      },
    },
  ],
};

/** Does the work once to see at which moments a process can die, then again for each of them. */
function killedDuring<Prepared>(name: string, work: Work<Prepared>): PartTest {
  return {
    name,
    run: async (context) => {
      const moments = await listMoments(context.bench, work);
      assert.ok(moments.length > 0, 'the launcher does something');
      for (const [index, moment] of moments.entries()) await killAt(context, index, moment, work);
    },
  };
}

async function listMoments<Prepared>(bench: Bench, work: Work<Prepared>): Promise<string[]> {
  const moments: string[] = [];
  const launcher = await bench.startLauncher();
  const prepared = await work.prepare(bench);
  const stop = onMoments(bench, launcher, (moment) => moments.push(moment));
  await work.run(bench, prepared);
  await endRequests(bench);
  stop();
  await settleDown(bench, 'although the launcher lived');
  return moments;
}

async function killAt<Prepared>(context: PartContext, index: number, moment: string, work: Work<Prepared>) {
  const bench = await context.open();
  const launcher = await bench.startLauncher();
  const prepared = await work.prepare(bench);
  const successor = await bench.makeLauncher();
  let seen = 0;
  const stop = onMoments(bench, launcher, () => {
    if (seen++ !== index) return;
    stop();
    launcher.kill();
    successor.launcher.start().catch(() => undefined); // then nobody cleans up, which shows
  });
  await work.run(bench, prepared);
  await endRequests(bench);
  await settleDown(bench, `after the launcher died at moment ${index + 1} (${moment})`);
  await bench.close();
}

/** Moments are what the driver does, and what the launcher writes: it may die before the answer arrives. */
function onMoments(bench: Bench, launcher: TestLauncher, listener: (what: string) => void): () => void {
  launcher.onMoment = listener;
  bench.books.onWrite = (sessionId, what) => {
    if (sessionId === launcher.zk.sessionId && /\/nodepool\/(nodes|requests)\b/.test(what)) listener(what);
  };
  return () => {
    launcher.onMoment = () => {};
    bench.books.onWrite = () => {};
  };
}

async function endRequests(bench: Bench): Promise<void> {
  for (const id of bench.ownRequests()) {
    await bench.fulfilled(id);
    await bench.forget(id);
  }
}

/** All nodes go, and nothing is left in the cloud. */
async function settleDown(bench: Bench, when: string): Promise<void> {
  await bench.untilNodesDeleted();
  let left = await bench.list();
  await bench.until(
    async () => (left = await bench.list()).length === 0,
    () =>
      `nothing is left in the cloud ${when}; left: ${left.map(({ id }) => id).join(', ')}; ${bench.describeNodes()}`,
    CLEAN_WITHIN_MS,
  );
}
