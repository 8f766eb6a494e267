import {
  COMPONENTS_ROOT,
  encodeComponent,
  encodeNode,
  newComponent,
  newNode,
  newPoolComponent,
  NODES_ROOT,
  type JsonObject,
  type LauncherId,
  type RequestId,
} from '@nodepool/zk-protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Harness } from '../../src/testing/harness/harness.js';
import { honestDriver, invalidConfigs, validConfig } from '../contract/honest-driver.js';
import { TestCloud } from '../contract/test-cloud.js';

const LABELS = ['small', 'large', 'huge'];

/** Configuration with one pool per label. */
function withPools(count: number): JsonObject {
  const pools = LABELS.slice(0, count).map((name) => ({
    name: `of-${name}`,
    'host-key-checking': false,
    labels: [{ name, 'cloud-image': 'debian' }],
  }));
  return { ...validConfig, pools };
}

describe('requests that wait while pools register', () => {
  let harness: Harness;

  beforeEach(async () => {
    const cloud = new TestCloud();
    const driver = honestDriver(() => cloud);
    const file = { labels: LABELS.map((name) => ({ name, 'min-ready': 0 })) };
    harness = await Harness.open({ driver, cloud: () => cloud, validConfig: withPools(3), invalidConfigs, file });
  });

  afterEach(() => harness.close());

  const stateOf = (id: RequestId) => harness.history.requests.get(id)?.state;

  async function submitAll(): Promise<RequestId[]> {
    const ids: RequestId[] = [];
    for (const label of LABELS) ids.push(await harness.submit([label]), await harness.submit([label]));
    return ids;
  }

  async function expectFulfilled(ids: readonly RequestId[]): Promise<void> {
    const isOver = (id: RequestId) => ['fulfilled', 'failed'].includes(stateOf(id) ?? '');
    await harness.until(() => ids.every(isOver), 'all requests are answered');
    expect(ids.map(stateOf)).toEqual(ids.map(() => 'fulfilled'));
  }

  it('are served after the start of a launcher whose pools have one label each', async () => {
    const ids = await submitAll();

    await harness.startLauncher();

    await expectFulfilled(ids);
  });

  it('are served after that launcher loses its session', async () => {
    const { link } = await harness.startLauncher();
    await harness.pass(20_000);
    link.hold(30_000);
    await harness.pass(25_000);
    const ids = await submitAll();

    await expectFulfilled(ids);
  });

  it('are served if a reload adds the pool they wait for while its provider still starts', async () => {
    const launcher = await harness.makeLauncher();
    const one = await harness.configuration.readEntry(withPools(1));
    await harness.during(
      launcher.launcher.reconfigure(one).catch(() => undefined),
      'a configuration is chosen',
    );
    await harness.during(launcher.launcher.start(), 'the launcher starts');
    await harness.pass(20_000);
    let open = (): void => {};
    launcher.startGate = new Promise((resolve) => (open = resolve));

    const reload = launcher.launcher.reconfigure(await harness.configuration.readEntry(withPools(3)));
    const ids = await submitAll();
    await harness.pass(5_000);
    open();
    await harness.during(reload, 'the configuration is in force');

    await expectFulfilled(ids);
  });

  it('are served by a launcher that returns, and by a launcher that is starting', async () => {
    const launcher = await harness.makeLauncher();
    await harness.during(
      launcher.launcher.reconfigure(await harness.configuration.readEntry(withPools(1))).catch(() => undefined),
      'a',
    );
    await harness.during(launcher.launcher.start(), 'the launcher starts');
    await harness.pass(20_000);
    const other = await harness.startLauncher();
    await harness.pass(20_000);
    other.kill();
    await harness.until(() => [...launcher.launcher.components].length === 1, 'its session is over');
    const ids = await submitAll();
    await harness.pass(15_000);

    await harness.startLauncher();

    await expectFulfilled(ids);
  });
});

describe('a request that no pool can serve', () => {
  let harness: Harness;

  beforeEach(async () => {
    const cloud = new TestCloud();
    const driver = honestDriver(() => cloud);
    const file = { labels: LABELS.map((name) => ({ name, 'min-ready': 0 })) };
    harness = await Harness.open({ driver, cloud: () => cloud, validConfig: withPools(2), invalidConfigs, file });
  });

  afterEach(() => harness.close());

  const failsWithin = (id: RequestId, ms: number) =>
    harness.until(() => harness.history.requests.get(id)?.state === 'failed', 'the request fails', ms);

  it('fails at once if all launchers have been running for a while', async () => {
    await harness.startLauncher();
    await harness.pass(20_000);

    const id = await harness.submit(['huge']);

    await failsWithin(id, 100);
  });

  it('fails at once if the only launcher has just started', async () => {
    await harness.startLauncher();

    const id = await harness.submit(['huge']);

    await failsWithin(id, 100);
  });

  it('waits for other launchers to start if a node record refers to them', async () => {
    const { zk } = await harness.startLauncher();
    const body = encodeNode(
      newNode({ state: 'hold', labels: ['x'], provider: 'elsewhere' }, harness.cloud.clock.now()),
    );
    await harness.during(
      zk.create(`${NODES_ROOT}/`, body, { sequential: true }),
      'a node of another provider is written',
    );

    const id = await harness.submit(['huge']);
    await harness.pass(8_000);

    expect(harness.history.requests.get(id)?.state).toBe('requested');
    await failsWithin(id, 5_000);
  });

  it('fails soon after the start of the only launcher if it was submitted before', async () => {
    const id = await harness.submit(['huge']);

    await harness.startLauncher();

    await failsWithin(id, 15_000);
  });

  it('waits for a launcher that has registered but is not running, but not indefinitely', async () => {
    const { zk } = await harness.startLauncher();
    await harness.pass(20_000);
    const starting = newComponent({ kind: 'launcher', hostname: 'nl02', state: 'stopped', version: '1' });
    const path = `${COMPONENTS_ROOT}/launcher/nl02-`;
    await harness.during(
      zk.create(path, encodeComponent(starting), { ephemeral: true, sequential: true }),
      'registers',
    );

    const id = await harness.submit(['huge']);
    await harness.pass(40_000);

    expect(harness.history.requests.get(id)?.state).toBe('requested');
    await failsWithin(id, 30_000);
  });

  it('fails at once if a pool without its label leaves', async () => {
    const { zk } = await harness.startLauncher();
    await harness.pass(20_000);
    const names = { name: 'main', providerName: 'elsewhere', launcherId: 'other' as LauncherId };
    const body = newPoolComponent({
      ...{ ...names, hostname: 'nl02', state: 'running', version: '1' },
      ...{ supportedLabels: ['small'], priority: 100, paused: false },
    });
    const path = `${COMPONENTS_ROOT}/pool/nl02-`;
    const entry = await harness.during(
      zk.create(path, encodeComponent(body), { ephemeral: true, sequential: true }),
      'another pool registers',
    );
    const id = await harness.submit(['huge']);
    await harness.pass(1_000);
    expect(harness.history.requests.get(id)?.state).toBe('requested');

    await harness.during(zk.delete(entry), 'it leaves');

    await failsWithin(id, 100);
  });
});
