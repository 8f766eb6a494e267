import { setImmediate } from 'node:timers/promises';
import {
  COMPONENTS_ROOT,
  encodeComponent,
  newPoolComponent,
  type LauncherId,
  type JsonObject,
  type RequestId,
} from '@nodepool/zk-protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Harness } from '../../src/testing/harness/harness.js';
import type { TestLauncher } from '../../src/testing/harness/launcher.js';
import { honestDriver, invalidConfigs, validConfig } from '../contract/honest-driver.js';
import { TestCloud } from '../contract/test-cloud.js';

const PAIR = ['small', 'small'];

function withRoomFor(nodes: number): JsonObject {
  const pool = {
    name: 'main',
    'max-servers': nodes,
    'host-key-checking': false,
    labels: [{ name: 'small', 'cloud-image': 'debian' }],
  };
  return { ...validConfig, pools: [pool] };
}

describe('a request that its pool cannot serve', () => {
  let harness: Harness;
  let launcher: TestLauncher;

  beforeEach(async () => {
    const cloud = new TestCloud();
    const driver = honestDriver(() => cloud);
    harness = await Harness.open({ driver, cloud: () => cloud, validConfig: withRoomFor(2), invalidConfigs });
    launcher = await harness.startLauncher();
  });

  afterEach(() => harness.close());

  const stateOf = (id: RequestId) => harness.history.requests.get(id)?.state;
  const reconfigure = async (nodes: number) => {
    const config = await harness.configuration.readEntry(withRoomFor(nodes));
    await harness.during(launcher.launcher.reconfigure(config), 'the configuration is in force');
  };

  /** Registers a pool of another launcher that has the label and never decides. */
  async function registerOther(): Promise<string> {
    const names = { name: 'main', providerName: 'elsewhere', launcherId: 'other' as LauncherId };
    const body = newPoolComponent({
      ...{ ...names, hostname: 'nl02', state: 'running', version: '1' },
      ...{ supportedLabels: ['small'], priority: 100, paused: false },
    });
    const path = `${COMPONENTS_ROOT}/pool/nl02-`;
    const created = launcher.zk.create(path, encodeComponent(body), { ephemeral: true, sequential: true });
    return harness.during(created, 'another pool is registered');
  }

  it.each([0, 1, 2, 3, 4, 5, 6, 7, 8])(
    'fails within a minute if the last other pool leaves %i turns of the event loop after the request is submitted',
    async (turns) => {
      const other = await registerOther();
      await reconfigure(1);
      await harness.pass(1_000);
      let left: Promise<void> | undefined;
      harness.history.onWrite = (_session, what) => {
        if (left || !what.startsWith('create /nodepool/requests/')) return;
        left = (async () => {
          for (let turn = 0; turn < turns; turn++) await setImmediate();
          await launcher.zk.delete(other);
        })();
      };

      const request = await harness.submit(PAIR);
      await harness.until(() => stateOf(request) === 'failed', 'the request fails', 60_000);
      await left;
    },
  );

  it('is returned to the queue and fails if the limits shrink while it waits for its last node', async () => {
    await harness.take(['small']);
    const request = await harness.submit(PAIR);
    await harness.until(() => launcher.launcher.pools.some(({ paused }) => paused === 1), 'the request waits');
    await harness.until(() => harness.ownNodes().some(({ allocatedTo }) => allocatedTo === request), 'with one node');

    await reconfigure(1);

    await harness.until(() => stateOf(request) === 'failed', 'the request fails', 60_000);
    expect(harness.ownNodes().filter(({ allocatedTo }) => allocatedTo === request)).toEqual([]);
  });
});
