import { COMPONENTS_ROOT, isFree, type RequestId } from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it } from 'vitest';
import { createStateMachine, failed, LaunchError } from '../../src/index.js';
import { isProbe } from '../../src/launcher/plan/health-rules.js';
import { Harness } from '../../src/testing/harness/harness.js';
import { honestDriver, invalidConfigs, validConfig } from '../contract/honest-driver.js';
import { TestCloud } from '../contract/test-cloud.js';

const LONGEST_PAUSE_MS = 120_000;
const broken = () =>
  createStateMachine<{ name: 'start' }, never, undefined>({
    ...{ name: 'create', initial: { name: 'start' }, context: undefined },
    handlers: { start: () => failed(new LaunchError('status', 'it is broken')) },
  });

describe('a provider that fails', () => {
  let harness: Harness;
  afterEach(() => harness.close());

  /** Starts a launcher. The state of provider `test` decides its launches; other providers can have its labels too. */
  async function start(others: readonly string[], minReady = 1) {
    const state: { cloud: 'well' | 'broken' | 'hanging'; attempts: number } = { cloud: 'broken', attempts: 0 };
    const cloud = new TestCloud();
    const driver = honestDriver(() => cloud, {
      adapter: (honest) => ({
        getQuotaLimits: () => Promise.resolve({ instances: 50 }),
        getCreateStateMachine: (order) => {
          if (order.metadata['nodepool_provider_name'] !== 'test') return honest.getCreateStateMachine(order);
          state.attempts++;
          if (state.cloud === 'hanging') cloud.failNext('never-ready');
          return state.cloud === 'broken' ? broken() : honest.getCreateStateMachine(order);
        },
      }),
    });
    const providers = others.map((name) => ({ ...validConfig, name, priority: 100 }));
    harness = await Harness.open({
      ...{ driver, cloud: () => cloud, invalidConfigs },
      validConfig: { ...validConfig, priority: 50, 'launch-retries': 1 },
      file: { labels: [{ name: 'small', 'min-ready': minReady }, { name: 'large' }], providers },
    });
    const { zk } = await harness.startLauncher();
    /** Whether the registry shows the provider as failing. */
    const isOpen = async () => {
      const root = `${COMPONENTS_ROOT}/pool`;
      const names = await harness.during(zk.getChildren(root), 'the registry is read');
      const read = names.map(
        async (name) => JSON.parse((await zk.getData(`${root}/${name}`)).data.toString()) as object,
      );
      const pools = await harness.during(Promise.all(read), 'its pools are read');
      return pools.some((pool) => 'health' in pool && pool.health === 'open');
    };
    return { state, isOpen };
  }

  const freeIn = (name: string) =>
    [...harness.history.nodes.values()].filter((node) => node.provider === name && isFree(node)).length;

  const isProbing = (id: RequestId) => {
    const request = harness.history.requests.get(id);
    return request !== undefined && isProbe(request);
  };

  /** Nodes launched by probes that are in progress. */
  const probing = () =>
    [...harness.history.nodes.values()].filter(
      ({ state, allocatedTo }) => state === 'building' && allocatedTo !== null && isProbing(allocatedTo),
    );

  it('is probed without any demand, and is used again after it recovers', async () => {
    const { state, isOpen } = await start(['second']);
    for (let i = 0; i < 3; i++) await harness.fulfilled(await harness.submit(['large']));
    await harness.until(() => freeIn('second') === 1, 'the other provider has made the standby node', 600_000);
    expect(await isOpen()).toBe(true);
    const before = state.attempts;

    await harness.pass(5 * LONGEST_PAUSE_MS);
    const attempts = state.attempts - before;
    const made = freeIn('second');
    state.cloud = 'well';
    await harness.pass(LONGEST_PAUSE_MS + 30_000);

    expect(attempts).toBeGreaterThanOrEqual(4);
    expect(attempts).toBeLessThanOrEqual(9);
    expect(made).toBe(1);
    expect(await isOpen()).toBe(false);
    expect([freeIn('test'), freeIn('second')]).toEqual([0, 1]);
    expect(harness.ownRequests()).toHaveLength(3);
  });

  it('is probed with a node that is deleted afterwards if no label has standby nodes', async () => {
    const { state, isOpen } = await start([], 0);
    const failures = [];
    for (let i = 0; i < 3; i++) failures.push(await harness.submit(['large']));
    await harness.until(() => isOpen(), 'it has failed often enough', 600_000);

    state.cloud = 'well';
    await harness.until(async () => !(await isOpen()), 'a probe has succeeded', LONGEST_PAUSE_MS + 30_000);
    await harness.pass(30_000);

    expect(failures.map((id) => harness.history.requests.get(id)?.state)).toEqual(['failed', 'failed', 'failed']);
    expect([...harness.history.nodes.values()].filter(({ provider }) => provider === 'test')).toEqual([]);
    expect(harness.ownRequests()).toHaveLength(3);
  });

  it('is probed again while probes hang, one at a time', async () => {
    const { state } = await start(['second']);
    state.cloud = 'well';
    await harness.until(() => freeIn('test') + freeIn('second') > 0, 'there is a standby node', 600_000);
    for (let i = 0; i < 3; i++) await harness.fulfilled(await harness.submit(['small']));
    state.cloud = 'hanging';
    for (let i = 0; i < 4; i++) await harness.submit(['small']);
    await harness.pass(30_000);
    const before = state.attempts;

    let most = 0;
    for (let i = 0; i < 48; i++) {
      await harness.pass((4 * LONGEST_PAUSE_MS) / 48);
      most = Math.max(most, probing().length);
    }

    expect(state.attempts - before).toBeGreaterThanOrEqual(2);
    expect(most).toBe(1);
    state.cloud = 'well';
  });

  it('launches the missing standby node if no other provider has the label', async () => {
    const { state, isOpen } = await start([]);
    await harness.until(() => isOpen(), 'it has failed often enough', 600_000);

    state.cloud = 'well';
    await harness.until(() => freeIn('test') > 0, 'the standby node is there', LONGEST_PAUSE_MS + 30_000);

    expect(await isOpen()).toBe(false);
  });
});
