import assert from 'node:assert/strict';
import type { RequestId } from '@nodepool/zk-protocol';
import type { Bench } from '../harness/harness.js';
import { launches, type ContractPart, type PartTest } from '../harness/part.js';

const SOON_MS = 60_000;

/** The end of a provider, orderly or at once. */
export const shutdown: ContractPart = {
  name: 'shutdown',
  tests: () => [...always, ...whileLaunching],
};

const always: readonly PartTest[] = [
  {
    name: 'stops without blocking, and leaves no timer behind',
    run: async ({ bench }) => {
      const launcher = await bench.startLauncher();
      const { provider, clock } = launcher;
      provider.idle();
      provider.stop();
      await bench.during(provider.join(), 'join resolves', SOON_MS);
      await bench.pass(0);

      assert.equal(clock.pendingTimers, 0, 'no timer is left after join');
    },
  },
  {
    name: 'may be stopped twice',
    run: async ({ bench }) => {
      const { provider } = await bench.startLauncher();
      provider.stop();
      provider.stop();
      await bench.during(Promise.all([provider.join(), provider.join()]), 'join resolves', SOON_MS);
    },
  },
  {
    name: 'gives up its start when that is aborted',
    run: async ({ bench }) => {
      const launcher = await bench.makeLauncher();
      launcher.startGate = new Promise(() => undefined);
      void launcher.launcher.start();
      await bench.until(() => launcher.providers.length > 0, 'the driver makes a provider', SOON_MS);
      const { provider } = launcher;
      const starting = provider.start(AbortSignal.abort(new Error('the launcher stops')));
      await bench.during(
        starting.catch(() => undefined),
        'start ends, well or badly',
        SOON_MS,
      );
      provider.stop();
      await bench.during(provider.join(), 'join resolves', SOON_MS);
      await bench.pass(0);

      assert.equal(launcher.clock.pendingTimers, 0, 'no timer is left after join');
    },
  },
];

const whileLaunching: readonly PartTest[] = [
  {
    name: 'ends a launch soon after it is aborted',
    applies: launches,
    run: async ({ bench }) => {
      const launcher = await bench.startLauncher();
      const [label] = await bench.labels();
      bench.fail('never-ready');
      let begun = 0;
      launcher.onMoment = () => begun++;
      await bench.submit([label]);
      await bench.until(() => begun > 0, 'the launch begins');
      await bench.pass(2_000);
      await bench.during(launcher.launcher.stop(), 'the launcher stops at once');
      const isOver = () => launcher.launches.length > 0;
      await bench.until(isOver, 'the launch ends when its signal is aborted', SOON_MS);
      const [launch] = launcher.launches;

      assert.ok(launch?.result, `launch never rejects; it was rejected with ${String(launch?.rejection)}`);
      launcher.provider.stop();
      await bench.during(launcher.provider.join(), 'join resolves', SOON_MS);
      await bench.pass(0);
      assert.equal(launcher.clock.pendingTimers, 0, 'no timer is left after join');
    },
  },
  {
    name: 'finishes what is under way when it is stopped in peace',
    applies: launches,
    run: async ({ bench }) => {
      const launcher = await bench.startLauncher();
      const [label] = await bench.labels();
      const request = await bench.submit([label]);
      await bench.until(() => isBeingMade(bench, request), 'a pool takes the request');
      await bench.stopLauncher(launcher);

      assert.deepEqual(
        launcher.launches.map(({ result }) => result?.state),
        ['ready'],
        'the launch is brought to its end',
      );
      assert.equal(bench.books.requests.get(request)?.state, 'fulfilled', bench.describeNodes());
      assert.equal(launcher.clock.pendingTimers, 0, 'no timer is left after join');
    },
  },
];

/** A pool has taken the request and, where nodes need nodes of others, those are being made too. */
function isBeingMade(bench: Bench, id: RequestId): boolean {
  if (bench.books.requests.get(id)?.state === 'requested') return false;
  if (!bench.buildsOnOthers) return true;
  return [...bench.books.nodes.values()].some(({ provider }) => provider !== bench.entry['name']);
}
