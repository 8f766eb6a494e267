import assert from 'node:assert/strict';
import type { RequestId } from '@nodepool/zk-protocol';
import type { Harness } from '../harness/harness.js';
import { RealTimers } from '../harness/real-timers.js';
import { launches, type ContractPart, type PartTest } from '../harness/part.js';

const SOON_MS = 60_000;

/** Stopping a provider, orderly or immediately. */
export const shutdown: ContractPart = {
  name: 'shutdown',
  tests: () => [...always, ...whileLaunching],
};

const always: readonly PartTest[] = [
  {
    name: 'stops without blocking, and leaves no timer behind',
    run: async ({ harness }) => {
      const launcher = await harness.startLauncher();
      const { provider, clock } = launcher;
      provider.idle();
      provider.stop();
      await harness.during(provider.join(), 'join resolves', SOON_MS);
      await harness.pass(0);

      assert.equal(clock.pendingTimers, 0, 'no timer is left after join');
    },
  },
  {
    name: 'leaves no timer of the real clock behind',
    run: async ({ harness }) => {
      const timers = new RealTimers(harness.driver.name);
      try {
        const launcher = await harness.startLauncher();
        if (harness.driver.capabilities.launches) {
          const [label] = await harness.configuration.labels();
          await harness.giveBack(await harness.take([label]));
          await harness.untilNoNodes();
        }
        launcher.provider.stop();
        await harness.during(launcher.provider.join(), 'join resolves', SOON_MS);
        await harness.pass(0);

        assert.deepEqual(
          await timers.left(),
          [],
          'what the driver sets ends with join, and time is that of context.clock: use clock.setTimer and cancel it in stop',
        );
      } finally {
        timers.stop();
      }
    },
  },
  {
    name: 'may be stopped twice',
    run: async ({ harness }) => {
      const { provider } = await harness.startLauncher();
      provider.stop();
      provider.stop();
      await harness.during(Promise.all([provider.join(), provider.join()]), 'join resolves', SOON_MS);
    },
  },
  {
    name: 'gives up its start when that is aborted',
    run: async ({ harness }) => {
      const launcher = await harness.makeLauncher();
      launcher.startGate = new Promise(() => undefined);
      void launcher.launcher.start();
      await harness.until(() => launcher.providers.length > 0, 'the driver makes a provider', SOON_MS);
      const { provider } = launcher;
      const starting = provider.start(AbortSignal.abort(new Error('the launcher stops')));
      await harness.during(
        starting.catch(() => undefined),
        'start ends, well or badly',
        SOON_MS,
      );
      provider.stop();
      await harness.during(provider.join(), 'join resolves', SOON_MS);
      await harness.pass(0);

      assert.equal(launcher.clock.pendingTimers, 0, 'no timer is left after join');
    },
  },
];

const whileLaunching: readonly PartTest[] = [
  {
    name: 'ends a launch soon after it is aborted',
    applies: launches,
    run: async ({ harness }) => {
      const launcher = await harness.startLauncher();
      const [label] = await harness.configuration.labels();
      harness.fail('never-ready');
      let begun = 0;
      launcher.onMoment = () => begun++;
      await harness.submit([label]);
      await harness.until(() => begun > 0, 'the launch begins');
      await harness.pass(2_000);
      await harness.during(launcher.launcher.stop(), 'the launcher stops at once');
      const isOver = () => launcher.launches.length > 0;
      await harness.until(isOver, 'the launch ends when its signal is aborted', SOON_MS);
      const [launch] = launcher.launches;

      assert.ok(launch?.result, `launch never rejects; it was rejected with ${String(launch?.rejection)}`);
      launcher.provider.stop();
      await harness.during(launcher.provider.join(), 'join resolves', SOON_MS);
      await harness.pass(0);
      assert.equal(launcher.clock.pendingTimers, 0, 'no timer is left after join');
    },
  },
  {
    name: 'finishes running work when it is stopped',
    applies: launches,
    run: async ({ harness }) => {
      const launcher = await harness.startLauncher();
      const [label] = await harness.configuration.labels();
      const request = await harness.submit([label]);
      await harness.until(() => isBeingMade(harness, request), 'a pool takes the request');
      await harness.stopLauncher(launcher);

      assert.deepEqual(
        launcher.launches.map(({ result }) => result?.state),
        ['ready'],
        'the launch is brought to its end',
      );
      assert.equal(harness.history.requests.get(request)?.state, 'fulfilled', harness.describeNodes());
      assert.equal(launcher.clock.pendingTimers, 0, 'no timer is left after join');
    },
  },
];

/** Whether a pool has accepted the request and, for nodes that depend on other nodes, those are being created too. */
function isBeingMade(harness: Harness, id: RequestId): boolean {
  if (harness.history.requests.get(id)?.state === 'requested') return false;
  if (!harness.configuration.buildsOnOthers) return true;
  return [...harness.history.nodes.values()].some(({ provider }) => provider !== harness.configuration.entry['name']);
}
