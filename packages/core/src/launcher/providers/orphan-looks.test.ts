import {
  COMPONENTS_ROOT,
  encodeComponent,
  newPoolComponent,
  type JsonObject,
  type LauncherId,
} from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { databaseTag, NODE_ID_TAG, PROVIDER_TAG } from '../../index.js';
import { Harness } from '../../testing/harness/harness.js';
import { honestDriver, invalidConfigs, validConfig } from '../../../test/contract/honest-driver.js';
import { TestCloud } from '../../../test/contract/test-cloud.js';

const SWEEP_MS = 60_000;

it('finds what a killed launcher had ordered within seconds of its end, and not with the next two sweeps', async () => {
  const cloud = new TestCloud();
  const entry: JsonObject = validConfig;
  const provider = 'test';
  const harness = await Harness.open({
    // its lists do not lag: where they do, a leak has to last longer than that
    ...{
      driver: honestDriver(() => cloud, { adapter: () => ({ listLagMs: 0 }) }),
      cloud: () => cloud,
      validConfig: entry,
      invalidConfigs,
    },
    file: { labels: ['small', 'large'].map((name) => ({ name, 'min-ready': 0 })) },
  });
  const { zk, launcher } = await harness.startLauncher();
  const body = newPoolComponent({
    ...{ name: 'main', providerName: provider, launcherId: 'killed' as LauncherId, hostname: 'nl02' },
    ...{ state: 'running', version: '1', supportedLabels: ['small'], priority: 100, paused: false },
  });
  const created = zk.create(`${COMPONENTS_ROOT}/pool/nl02-`, encodeComponent(body), {
    ephemeral: true,
    sequential: true,
  });
  const pool = await harness.during(created, 'the pool of another launcher registers');
  await harness.pass(SWEEP_MS + 1_000);
  const tags = { [PROVIDER_TAG]: provider, [NODE_ID_TAG]: '0000000099', ...databaseTag(launcher.databaseId) };
  const order = cloud.create(tags, null);
  await harness.during(order, 'an instance is ordered whose id is never stored');

  await harness.during(zk.delete(pool), 'the other launcher is gone');
  await harness.pass(20_000);

  expect(cloud.list()).toEqual([]);
  await harness.close();
});
