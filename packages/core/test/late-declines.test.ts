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
import { Bench } from '../src/testing/harness/harness.js';
import type { TestLauncher } from '../src/testing/harness/launcher.js';
import { honestDriver, invalidConfigs, validConfig } from './contract/honest-driver.js';
import { TestCloud } from './contract/test-cloud.js';

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
  let bench: Bench;
  let launcher: TestLauncher;

  beforeEach(async () => {
    const cloud = new TestCloud();
    const driver = honestDriver(() => cloud);
    bench = await Bench.open({ driver, cloud: () => cloud, validConfig: withRoomFor(2), invalidConfigs });
    launcher = await bench.startLauncher();
  });

  afterEach(() => bench.close());

  const stateOf = (id: RequestId) => bench.books.requests.get(id)?.state;
  const reconfigure = async (nodes: number) => {
    const config = await bench.readConfig(withRoomFor(nodes));
    await bench.during(launcher.launcher.reconfigure(config), 'the configuration is in force');
  };

  /** A pool of another launcher that has the label and decides nothing. */
  async function registerOther(): Promise<string> {
    const names = { name: 'main', providerName: 'elsewhere', launcherId: 'other' as LauncherId };
    const body = newPoolComponent({
      ...{ ...names, hostname: 'nl02', state: 'running', version: '1' },
      ...{ supportedLabels: ['small'], priority: 100, paused: false },
    });
    const path = `${COMPONENTS_ROOT}/pool/nl02-`;
    const created = launcher.zk.create(path, encodeComponent(body), { ephemeral: true, sequential: true });
    return bench.during(created, 'another pool is registered');
  }

  it.each([0, 1, 2, 3, 4, 5, 6, 7, 8])(
    'fails within a minute when the last other pool leaves %i turns of the event loop after it was submitted',
    async (turns) => {
      const other = await registerOther();
      await reconfigure(1);
      await bench.pass(1_000);
      let left: Promise<void> | undefined;
      bench.books.onWrite = (_session, what) => {
        if (left || !what.startsWith('create /nodepool/requests/')) return;
        left = (async () => {
          for (let turn = 0; turn < turns; turn++) await setImmediate();
          await launcher.zk.delete(other);
        })();
      };

      const request = await bench.submit(PAIR);
      await bench.until(() => stateOf(request) === 'failed', 'the request fails', 60_000);
      await left;
    },
  );

  it('is put back, and fails, when the limits shrink while it waits for its last node', async () => {
    await bench.take(['small']);
    const request = await bench.submit(PAIR);
    await bench.until(() => launcher.launcher.pools.some(({ paused }) => paused === 1), 'the request waits');
    await bench.until(() => bench.ownNodes().some(({ allocatedTo }) => allocatedTo === request), 'with one node');

    await reconfigure(1);

    await bench.until(() => stateOf(request) === 'failed', 'the request fails', 60_000);
    expect(bench.ownNodes().filter(({ allocatedTo }) => allocatedTo === request)).toEqual([]);
  });
});
