import { COMPONENTS_ROOT, type RequestId } from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it } from 'vitest';
import { Harness } from '../../src/testing/harness/harness.js';
import type { TestLauncher } from '../../src/testing/harness/launcher.js';
import { honestDriver, invalidConfigs, validConfig } from '../contract/honest-driver.js';
import { TestCloud } from '../contract/test-cloud.js';

const closed = { 'max-concurrency': 0 };
/** Preferred unless it is paused. */
const first = { ...validConfig, priority: 50 };
const second = { ...validConfig, name: 'second', priority: 100 };

describe('a provider with max-concurrency 0', () => {
  let harness: Harness;
  afterEach(() => harness.close());

  /** Starts a launcher with the first provider and others, each with a quota of one instance. */
  async function start(entry: typeof first & { 'max-concurrency'?: number }, providers: (typeof second)[]) {
    const cloud = new TestCloud();
    const driver = honestDriver(() => cloud, {
      adapter: () => ({ getQuotaLimits: () => Promise.resolve({ instances: 1 }) }),
    });
    harness = await Harness.open({
      driver,
      cloud: () => cloud,
      validConfig: entry,
      invalidConfigs,
      file: { providers },
    });
    return harness.startLauncher();
  }

  async function reload({ launcher }: TestLauncher, entry: typeof first): Promise<void> {
    const config = await harness.configuration.readEntry(entry);
    await harness.during(launcher.reconfigure(config), 'the configuration is in force');
  }

  /** Whether the registry shows the pools as paused, by provider. */
  async function pausedPools({ zk }: TestLauncher): Promise<Record<string, boolean>> {
    const root = `${COMPONENTS_ROOT}/pool`;
    const names = await harness.during(zk.getChildren(root), 'the registry is read');
    const read = Promise.all(names.map((name) => zk.getData(`${root}/${name}`)));
    const components = await harness.during(read, 'its pools are read');
    const bodies = components.map(({ data }) => JSON.parse(data.toString('utf8')) as Record<string, unknown>);
    return Object.fromEntries(bodies.map((body) => [String(body['provider_name']), body['paused'] === true]));
  }

  const stateOf = (id: RequestId) => harness.history.requests.get(id)?.state;
  const isPaused = (launcher: TestLauncher, wanted: boolean) => async () =>
    (await pausedPools(launcher))['test'] === wanted;

  it('is announced as paused, and a less preferred pool takes the request', async () => {
    const launcher = await start({ ...first, ...closed }, [second]);

    const nodes = await harness.fulfilled(await harness.submit(['small']));

    expect(await pausedPools(launcher)).toEqual({ test: true, second: false });
    expect(nodes.map(({ provider }) => provider)).toEqual(['second']);
  });

  it('accepts nothing if there is no other, and serves the request after launches are allowed', async () => {
    const launcher = await start({ ...first, ...closed }, []);
    const openAtMs = harness.cloud.clock.now() + 300_000;

    const id = await harness.submit(['small']);
    const seen = new Set<string | undefined>();
    harness.onStep = () => void seen.add(stateOf(id));
    await harness.until(() => harness.cloud.clock.now() >= openAtMs, 'some time passes', 600_000);
    expect([...seen]).toEqual(['requested']);
    expect(harness.history.requests.get(id)?.declinedBy).toEqual([]);
    expect(await pausedPools(launcher)).toEqual({ test: true });

    await reload(launcher, first);
    await harness.until(() => stateOf(id) === 'fulfilled', 'the request is served', 60_000);
    await harness.until(isPaused(launcher, false), 'the pool is announced as open', 60_000);
  });

  it('returns accepted requests to the queue when a reload sets the 0', async () => {
    const launcher = await start(first, []);
    await harness.take(['small']);
    const waiting = await harness.submit(['small']);
    await harness.until(() => stateOf(waiting) === 'pending', 'it is accepted, and waits for room');

    await reload(launcher, { ...first, ...closed });

    await harness.until(() => stateOf(waiting) === 'requested', 'it is put back', 60_000);
    await harness.until(isPaused(launcher, true), 'the pool is announced as paused', 60_000);
    expect(harness.history.requests.get(waiting)).toMatchObject({ nodeIds: [], declinedBy: [] });
    await harness.pass(600_000);
    expect(stateOf(waiting)).toBe('requested');
  });

  it('leaves returned requests to another pool', async () => {
    const launcher = await start(first, [second]);
    const taken = await harness.take(['small']);
    const waiting = await harness.submit(['small']);
    await harness.until(() => stateOf(waiting) === 'pending', 'it is accepted, and waits for room');
    await reload(launcher, { ...first, ...closed });

    await harness.giveBack(taken);

    const nodes = await harness.fulfilled(waiting);
    expect([...taken.nodes, ...nodes].map(({ provider }) => provider)).toEqual(['test', 'second']);
  });
});
