import {
  COMPONENTS_ROOT,
  controlPath,
  encodeControl,
  encodeNode,
  newControl,
  newNode,
  NODE_CREATE_PATH,
} from '@nodepool/zk-protocol';
import type { ControlRecord, RequestId } from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it } from 'vitest';
import { Harness } from '../../src/testing/harness/harness.js';
import type { TestLauncher } from '../../src/testing/harness/launcher.js';
import { honestDriver, invalidConfigs, validConfig } from '../contract/honest-driver.js';
import { TestCloud } from '../contract/test-cloud.js';

/** Preferred unless it is paused. */
const first = { ...validConfig, priority: 50 };
const second = { ...validConfig, name: 'second', priority: 100 };

type Order = Pick<ControlRecord, 'kind' | 'name' | 'mode'> & Partial<ControlRecord>;

describe('an order of an operator', () => {
  let harness: Harness;
  afterEach(() => harness.close());

  /** Starts a launcher with the first provider and others, each with a quota of instances. */
  async function start(providers: (typeof second)[], instances = 2) {
    const cloud = new TestCloud();
    const driver = honestDriver(() => cloud, {
      adapter: () => ({ getQuotaLimits: () => Promise.resolve({ instances }) }),
    });
    harness = await Harness.open({
      driver,
      cloud: () => cloud,
      validConfig: first,
      invalidConfigs,
      file: { providers },
    });
    return harness.startLauncher();
  }

  async function give({ zk }: TestLauncher, order: Order): Promise<void> {
    const control = newControl({ owner: 'alice', reason: 'power works', ...order }, harness.cloud.clock.now());
    const path = controlPath(control);
    await harness.during(zk.ensurePath(path.slice(0, path.lastIndexOf('/'))), 'there is a place for orders');
    await harness.during(zk.create(path, encodeControl(control)), 'the order is given');
  }

  const resume = ({ zk }: TestLauncher, order: Pick<Order, 'kind' | 'name'>) =>
    harness.during(zk.delete(controlPath(order)), 'the order is taken back');

  const stateOf = (id: RequestId) => harness.history.requests.get(id)?.state;
  const inForce = ({ launcher }: TestLauncher, count: number) =>
    harness.until(() => launcher.controls.length === count, 'the order is in force', 60_000);
  const ruleOf = ({ launcher }: TestLauncher, requestId: RequestId) =>
    launcher.explain({ requestId })?.pools.find(({ provider }) => provider === 'test')?.rule;

  async function isAnnouncedAsPaused({ zk }: TestLauncher): Promise<boolean> {
    const root = `${COMPONENTS_ROOT}/pool`;
    const [name = ''] = await harness.during(zk.getChildren(root), 'the registry is read');
    const { data } = await harness.during(zk.getData(`${root}/${name}`), 'the pool is read');
    return (JSON.parse(data.toString('utf8')) as { paused: boolean }).paused;
  }

  const PAUSES: readonly Order[] = [
    { kind: 'provider', name: 'test', mode: 'pause' },
    { kind: 'pool', name: 'test/main', mode: 'pause' },
    { kind: 'pool', name: 'test/main', mode: 'drain' },
    { kind: 'label', name: 'small', mode: 'pause' },
  ];

  it.each(PAUSES)('to $mode the $kind keeps requests waiting, without declining them, until resume', async (order) => {
    const launcher = await start([]);
    await give(launcher, order);
    await inForce(launcher, 1);

    const id = await harness.submit(['small']);
    await harness.pass(600_000);

    expect(harness.history.requests.get(id)).toMatchObject({ state: 'requested', declinedBy: [] });
    expect(ruleOf(launcher, id)).toBe('paused-by-operator');
    expect(harness.history.nodes.size).toBe(0);

    await resume(launcher, order);
    await harness.until(() => stateOf(id) === 'fulfilled', 'the request is served', 60_000);
  });

  it('expires by itself', async () => {
    const launcher = await start([]);
    const endTimeMs = harness.cloud.clock.now() + 300_000;
    await give(launcher, { kind: 'provider', name: 'test', mode: 'pause', endTimeMs });
    await inForce(launcher, 1);
    const id = await harness.submit(['small']);

    await harness.until(() => stateOf(id) === 'fulfilled', 'the request is served', 400_000);

    expect(harness.cloud.clock.now()).toBeGreaterThanOrEqual(endTimeMs);
    expect(launcher.launcher.controls).toEqual([]);
  });

  it('is announced to launchers that do not support orders, and another provider takes over', async () => {
    const launcher = await start([second]);
    await give(launcher, { kind: 'provider', name: 'test', mode: 'pause' });
    await harness.until(() => isAnnouncedAsPaused(launcher), 'the pool is announced as paused', 60_000);

    const nodes = await harness.fulfilled(await harness.submit(['small']));

    expect(nodes.map(({ provider }) => provider)).toEqual(['second']);
  });

  it('returns accepted requests that are waiting to the queue', async () => {
    const launcher = await start([], 1);
    await harness.take(['small']);
    const waiting = await harness.submit(['small']);
    await harness.until(() => stateOf(waiting) === 'pending', 'it is accepted, and waits for room');

    await give(launcher, { kind: 'provider', name: 'test', mode: 'pause' });

    await harness.until(() => stateOf(waiting) === 'requested', 'it is put back', 60_000);
  });

  it('to drain deletes free nodes, including those that become free later, and no others', async () => {
    const launcher = await start([]);
    const taken = await harness.take(['small']);
    const dropped = await harness.submit(['small']);
    await harness.until(() => stateOf(dropped) === 'fulfilled', 'a second node is ready');
    await give(launcher, { kind: 'provider', name: 'test', mode: 'drain' });
    await inForce(launcher, 1);

    await harness.during(
      launcher.zk.delete(`/nodepool/requests/${dropped}`),
      'no request wants the second node any more',
    );

    await harness.until(() => harness.history.nodes.size === 1, 'the free node is deleted', 120_000);
    expect([...harness.history.nodes.keys()]).toEqual(taken.nodes.map(({ id }) => id));
  });

  it('to drain deletes free nodes of a pool that was removed from the configuration with its provider', async () => {
    const launcher = await start([]);
    const fields = { state: 'ready', labels: ['small'], provider: 'test', pool: 'gone' } as const;
    const record = encodeNode(newNode(fields, harness.cloud.clock.now()));
    await harness.during(
      launcher.zk.create(NODE_CREATE_PATH, record, { sequential: true }),
      'a node of an earlier pool is there',
    );
    await harness.until(() => harness.history.nodes.size === 1, 'the node is seen');

    await give(launcher, { kind: 'provider', name: 'test', mode: 'drain' });

    await harness.until(() => harness.history.nodes.size === 0, 'the free node is deleted', 120_000);
  });

  it('limits a provider to fewer nodes than its quota, and the limit is reported', async () => {
    const launcher = await start([]);
    await give(launcher, { kind: 'provider', name: 'test', mode: 'limit', limit: 1 });
    await inForce(launcher, 1);
    const taken = await harness.take(['small']);

    const next = await harness.submit(['small']);
    const tooBig = await harness.submit(['small', 'small']);
    await harness.pass(300_000);

    const explained = launcher.launcher.explain({ requestId: next })?.pools[0];
    expect(explained?.text).toContain('limited to 1 by alice: power works');
    expect(ruleOf(launcher, tooBig)).toBe('limited-by-operator');
    expect(harness.history.nodes.size).toBe(1);

    await harness.giveBack(taken);
    await harness.until(() => stateOf(next) === 'fulfilled', 'there is capacity again', 120_000);
  });

  it('limits a label across all providers; other labels do not wait for it, and the order of requests is kept', async () => {
    const launcher = await start([second], 4);
    await give(launcher, { kind: 'label', name: 'small', mode: 'limit', limit: 2 });
    await inForce(launcher, 1);
    const taken = await harness.take(['small']);

    const two = await harness.submit(['small', 'small']);
    const one = await harness.submit(['small']);
    const other = await harness.fulfilled(await harness.submit(['large']));
    await harness.pass(300_000);

    expect(other).toHaveLength(1);
    expect([two, one].map(stateOf)).toEqual(['requested', 'requested']);
    expect(harness.history.requests.get(two)?.declinedBy).toEqual([]);
    const explained = launcher.launcher.explain({ requestId: two })?.pools[0];
    expect(explained).toMatchObject({ rule: 'limited-by-operator', action: 'wait' });
    expect(explained?.text).toBe('label "small" is limited to 2 by alice: power works; 1 are there or about to be');

    await harness.giveBack(taken);
    await harness.until(() => stateOf(two) === 'fulfilled', 'there is capacity for both', 120_000);
    expect([...harness.history.nodes.values()].filter(({ labels }) => labels.includes('small'))).toHaveLength(2);
    expect(stateOf(one)).toBe('requested');
  });
});
