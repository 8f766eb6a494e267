import assert from 'node:assert/strict';
import type { Harness, TakenNodes } from '../harness/harness.js';
import type { TestLauncher } from '../harness/launcher.js';
import { launches, type ContractPart, type PartContext, type PartTest } from '../harness/part.js';

/** Time for several leak sweeps. A leak is deleted after the second. */
const CLEAN_WITHIN_MS = 1_800_000;

/** Work to interrupt by killing the launcher. */
export interface Work<Prepared> {
  /** Called before the first launcher is made. */
  configure?(harness: Harness): Promise<void>;
  prepare(harness: Harness): Promise<Prepared>;
  run(harness: Harness, prepared: Prepared): Promise<unknown>;
  /** Called when all requests are fulfilled. */
  check?(harness: Harness): Promise<void>;
  /** Called before everything must be deleted. */
  end?(harness: Harness): Promise<void>;
}

/** A launcher that dies at any moment leaves no permanent leftovers. */
export const restart: ContractPart = {
  name: 'restart',
  applies: launches,
  tests: () => [
    killedDuring('loses nothing of a creation, at whatever moment the launcher dies', {
      prepare: (harness) => harness.configuration.labels(),
      run: (harness, [label]) => harness.submit([label]),
      check: assertResumed,
    }),
    killedDuring('continues a deletion, at whatever moment the launcher dies', {
      prepare: async (harness) => {
        const [label] = await harness.configuration.labels();
        return harness.take([label]);
      },
      run: async (harness, taken: TakenNodes) => {
        await harness.giveBack(taken);
        await harness.untilNodesDeleted();
      },
    }),
    {
      name: 'keeps what is in use when a new launcher takes over',
      run: async ({ harness }) => {
        const first = await harness.startLauncher();
        const [label] = await harness.configuration.labels();
        await harness.take([label]);
        const before = await harness.resources.ids();
        first.kill();
        await harness.startLauncher();
        await harness.pass(600_000);

        assert.deepEqual(await harness.resources.ids(), before);
      },
    },
  ],
};

/** Runs the work once to collect the points where a process can die, then once for each of these points. */
export function killedDuring<Prepared>(name: string, work: Work<Prepared>): PartTest {
  return {
    name,
    run: async (context) => {
      const moments = await listMoments(context.harness, work);
      assert.ok(moments.length > 0, 'the launcher does something');
      for (const [index, moment] of moments.entries()) await killAt(context, index, moment, work);
    },
  };
}

async function listMoments<Prepared>(harness: Harness, work: Work<Prepared>): Promise<string[]> {
  const moments: string[] = [];
  await work.configure?.(harness);
  const launcher = await harness.startLauncher();
  const prepared = await work.prepare(harness);
  const stop = onMoments(harness, launcher, (moment) => moments.push(moment));
  await work.run(harness, prepared);
  await endRequests(harness, work);
  stop();
  await work.end?.(harness);
  await settleDown(harness, 'although the launcher lived');
  return moments;
}

async function killAt<Prepared>(context: PartContext, index: number, moment: string, work: Work<Prepared>) {
  const harness = await context.open();
  await work.configure?.(harness);
  const launcher = await harness.startLauncher();
  const prepared = await work.prepare(harness);
  const successor = await harness.makeLauncher();
  let seen = 0;
  let startError: unknown;
  const stop = onMoments(harness, launcher, () => {
    if (seen++ !== index) return;
    stop();
    launcher.kill();
    successor.launcher.start().catch((error: unknown) => (startError = error));
  });
  try {
    await work.run(harness, prepared);
    await endRequests(harness, work);
    await work.end?.(harness);
    await settleDown(harness, `after the launcher died at moment ${index + 1} (${moment})`);
  } catch (error) {
    throw startError === undefined ? error : new Error('the next launcher does not start', { cause: startError });
  }
  await harness.close();
}

/** Calls the listener after driver calls and launcher writes: the launcher may die before the answer arrives. */
function onMoments(harness: Harness, launcher: TestLauncher, listener: (what: string) => void): () => void {
  launcher.onMoment = listener;
  harness.history.onWrite = (sessionId, what) => {
    if (sessionId === launcher.zk.sessionId && /\/nodepool\/(nodes|requests)\b/.test(what)) listener(what);
  };
  return () => {
    launcher.onMoment = () => {};
    harness.history.onWrite = () => {};
  };
}

async function endRequests<Prepared>(harness: Harness, work: Work<Prepared>): Promise<void> {
  const requests = harness.ownRequests();
  for (const id of requests) await harness.fulfilled(id);
  if (requests.length > 0) await work.check?.(harness);
  for (const id of requests) await harness.forget(id);
}

/** A driver that resumes launches finishes the node that a launcher began, with the one instance that it has. */
async function assertResumed({ driver, history, resources }: Harness): Promise<void> {
  if (!driver.capabilities.resumes) return;
  const made = new Set(history.nodeHistory.map(({ id }) => id));
  assert.equal(made.size, 1, 'the launch is continued: no second node is made');
  const failures = history.nodeHistory.flatMap(({ launchError }) => (launchError === null ? [] : [launchError]));
  assert.deepEqual(failures, [], 'the attempt is continued: it does not fail');
  const ids = new Set(history.nodeHistory.flatMap(({ externalId }) => (externalId === null ? [] : [externalId])));
  assert.equal(ids.size, 1, 'the node has one instance from beginning to end');
  assert.equal(await resources.countInstances(), 1, 'the cloud has one instance');
}

/** Waits until all nodes are deleted and the cloud is empty. */
async function settleDown(harness: Harness, when: string): Promise<void> {
  await harness.untilNodesDeleted();
  let left = await harness.resources.list();
  await harness.until(
    async () => (left = await harness.resources.list()).length === 0,
    () =>
      `nothing is left in the cloud ${when}; left: ${left.map(({ id }) => id).join(', ')}; ${harness.describeNodes()}`,
    CLEAN_WITHIN_MS,
  );
}
