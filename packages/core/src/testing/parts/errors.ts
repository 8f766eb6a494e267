import assert from 'node:assert/strict';
import { isNodepoolError } from '@nodepool/zk-protocol';
import type { Harness } from '../harness/harness.js';
import type { TestLauncher } from '../harness/launcher.js';
import { launches, type ContractPart, type PartTest } from '../harness/part.js';
import type { CloudFailureKind } from '../harness/types.js';

/** More often than any driver retries. */
const ALWAYS = 10_000;

/** Handling failures of the cloud. Each has an error class that determines the reaction of core. */
export const errors: ContractPart = {
  name: 'errors',
  applies: launches,
  tests: () => [
    {
      name: 'aborts a launch without counting an attempt when the quota is used up',
      run: async ({ harness }) => {
        const launcher = await harness.startLauncher();
        const happens = await failAndTake(harness, 'quota');
        assertOutcomes(launcher);
        if (!happens || harness.isUnseen('quota')) return;
        const [first, second] = launcher.launches;
        assert.equal(first?.result?.state, 'aborted', 'the launch ends with state "aborted"');
        assert.ok(isNodepoolError(first.result.error, 'NODEPOOL_QUOTA'), 'its error is a QuotaError');
        assert.equal(second?.result?.state, 'ready', 'and the next launch succeeds');
      },
    },
    classified('capacity', 'NODEPOOL_CAPACITY', 'reports a cloud without room as a lack of capacity'),
    recovered('capacity', 'tries again when the cloud has no capacity'),
    recovered('unavailable', 'waits out a cloud that does not answer for a while', { times: 8 }),
    recovered('error-state', 'replaces an instance that breaks while it is made', {
      also: ({ attemptErrors }) => {
        const timeouts = attemptErrors.filter((error) => isNodepoolError(error, 'NODEPOOL_CREATE_TIMEOUT'));
        assert.deepEqual(
          timeouts.map(({ message }) => message),
          [],
          'a creation ends with a LaunchError when the cloud shows that the instance is broken; this one waited for ' +
            'launch-timeout: look at the states of the cloud that an instance never leaves',
        );
      },
    }),
    recovered('never-ready', 'replaces an instance that is not ready in time'),
    recovered('lost-reply', 'makes no second instance when the answer to a creation is lost'),
    recovered('late-listing', 'makes no second instance when lists show late what was made', {
      hint: 'say in listLagMs of the adapter for how long lists can miss what was made: core waits as long',
    }),
  ],
};

interface RecoveryOptions {
  /** Number of failures. Default: 1. */
  readonly times?: number;
  /** Advice for a driver that creates two instances for one node. */
  readonly hint?: string;
  /** Additional assertions. */
  readonly also?: (launcher: TestLauncher) => void;
}

/** The failure is temporary: one instance serves the request, and no duplicate ever exists. */
function recovered(kind: CloudFailureKind, name: string, more: RecoveryOptions = {}): PartTest {
  const { times = 1, hint = 'delete before trying again', also } = more;
  return {
    name,
    run: async ({ harness }) => {
      const launcher = await harness.startLauncher();
      const peak = watchPeak(harness);
      await failAndTake(harness, kind, times);

      assertOutcomes(launcher);
      await harness.resources.assertAllReady();
      assert.ok(peak.instances <= 1, `there are never two instances for one node: ${hint}`);
      assert.equal(
        await harness.resources.countInstances(),
        1,
        'what failed attempts made is gone, the rest is in use',
      );
      also?.(launcher);
    },
  };
}

/** The failure is permanent: the launch fails with the correct error class. */
function classified(kind: CloudFailureKind, code: string, name: string): PartTest {
  return {
    name,
    run: async ({ harness }) => {
      const launcher = await harness.startLauncher();
      const [label] = await harness.configuration.labels();
      if (!harness.fail(kind, ALWAYS)) return;
      await harness.submit([label]);
      await harness.until(() => launcher.launches.length > 0, 'the launch ends');
      const [launch] = launcher.launches;

      assertOutcomes(launcher);
      assert.equal(launch?.result?.state, 'failed', 'the launch ends with state "failed"');
      if (harness.isUnseen(kind)) return;
      const { error } = launch.result;
      assert.ok(isNodepoolError(error, code), `its error has the code ${code}; it is ${String(error)}`);
    },
  };
}

async function failAndTake(harness: Harness, kind: CloudFailureKind, times = 1): Promise<boolean> {
  const [label] = await harness.configuration.labels();
  await harness.pass(10_000); // skip the initial calls of a new provider, so that the failure does not affect them
  const happens = harness.fail(kind, times);
  await harness.take([label]);
  return happens;
}

function watchPeak(harness: Harness): { instances: number } {
  const peak = { instances: 0 };
  harness.onStep = async () => {
    peak.instances = Math.max(peak.instances, await harness.resources.countInstances());
  };
  return peak;
}

function assertOutcomes({ launches: ended }: TestLauncher): void {
  for (const { result, rejection } of ended) {
    assert.ok(
      result,
      `launch never rejects: it resolves with state "failed"; it was rejected with ${String(rejection)}`,
    );
  }
}
