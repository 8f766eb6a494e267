import { setImmediate } from 'node:timers/promises';
import {
  encodeRequest,
  newRequest,
  requestCreatePath,
  requestPath,
  REQUESTS_ROOT,
  type RequestId,
} from '@nodepool/zk-protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Harness } from '../../src/testing/harness/harness.js';
import type { TestLauncher } from '../../src/testing/harness/launcher.js';
import { honestDriver, invalidConfigs, validConfig } from '../contract/honest-driver.js';
import { TestCloud } from '../contract/test-cloud.js';

const LIMIT = 2;
const TENANT = 'example';
const pool = (name: string, labels: readonly string[]) => ({
  name,
  'host-key-checking': false,
  labels: labels.map((label) => ({ name: label, 'cloud-image': 'debian' })),
});

/** Two pools of one provider that both have the label `small`. */
const twoPools = {
  ...validConfig,
  pools: [{ ...pool('one', ['small', 'large']), 'max-servers': 3 }, pool('two', ['small'])],
};

describe('the limit of a tenant', () => {
  let harness: Harness;
  let launcher: TestLauncher;

  beforeEach(async () => {
    const cloud = new TestCloud();
    const roomy = { adapter: () => ({ getQuotaLimits: () => Promise.resolve({ instances: 100 }) }) };
    const file = { 'tenant-resource-limits': [{ 'tenant-name': TENANT, 'max-servers': LIMIT }] };
    const driver = honestDriver(() => cloud, roomy);
    harness = await Harness.open({ driver, cloud: () => cloud, validConfig: twoPools, invalidConfigs, file });
    launcher = await harness.startLauncher();
    await harness.during(launcher.zk.ensurePath(REQUESTS_ROOT), 'there is a place for requests');
  });

  afterEach(() => harness.close());

  function create(labels: readonly string[], tenantName: string | null = TENANT): Promise<string> {
    const request = newRequest({ labels, requestor: 'zuul', tenantName }, harness.cloud.clock.now());
    return launcher.zk.create(requestCreatePath(200), encodeRequest(request), { sequential: true });
  }

  async function ask(labels: readonly string[], tenantName?: string | null): Promise<RequestId> {
    const path = await harness.during(create(labels, tenantName), 'a request is submitted');
    return path.slice(REQUESTS_ROOT.length + 1) as RequestId;
  }

  function withdraw(id: RequestId): Promise<void> {
    return harness.during(launcher.zk.delete(requestPath(id)), 'a request is withdrawn');
  }

  const stateOf = (id: RequestId) => harness.history.requests.get(id)?.state;
  const accepted = () => [...harness.history.requests.values()].filter(({ state }) => state !== 'requested');
  const countNodes = () => [...harness.history.nodes.values()].filter(({ tenantName }) => tenantName === TENANT).length;

  it.each([0, 1, 2, 3, 5])('is kept when many requests arrive %i turns of the event loop apart', async (turns) => {
    const creations: Promise<string>[] = [];
    for (let i = 0; i < 20; i++) {
      creations.push(create(['small']));
      for (let turn = 0; turn < turns; turn++) await setImmediate();
    }
    await harness.during(Promise.all(creations), 'all requests are submitted');
    await harness.pass(60_000);

    expect(countNodes()).toBe(LIMIT);
    expect(accepted().map(({ state }) => state)).toEqual(['fulfilled', 'fulfilled']);
  });

  it('includes the nodes that an accepted request still waits for', async () => {
    const others = await ask(['large', 'large'], 'another');
    await harness.until(() => stateOf(others) === 'fulfilled', 'pool "one" has capacity for one more node');
    const waiting = await ask(['large', 'large']);
    await harness.until(() => countNodes() === 1, 'it has the first of its nodes');

    const late = await ask(['small']);
    await harness.pass(60_000);

    expect([stateOf(waiting), stateOf(late)]).toEqual(['pending', 'requested']);
    await withdraw(waiting);
    await harness.until(() => stateOf(late) === 'fulfilled', 'the next one is served', 60_000);
  });

  it('excludes requests that were withdrawn at any moment', async () => {
    for (let i = 0; i < 10; i++) {
      const early = await ask(['small', 'small']);
      for (let turn = 0; turn < i; turn++) await setImmediate();
      await withdraw(early);
      const id = await ask(['small', 'small']);
      await harness.until(
        () => stateOf(id) === 'fulfilled',
        () => `request ${i} is served; it is ${stateOf(id)}`,
        60_000,
      );
      await withdraw(id);
    }
  });

  it('excludes nodes that withdrawn requests left behind', async () => {
    const ids = [await ask(['large']), await ask(['large'])];
    await harness.until(
      () => accepted().every(({ state }) => state === 'fulfilled') && accepted().length === 2,
      'served',
    );
    for (const id of ids) await withdraw(id);
    await harness.until(() => harness.ownNodes().every(({ allocatedTo }) => allocatedTo === null), 'nodes are free');

    expect(countNodes()).toBe(0);
    await ask(['small', 'large']);
    await harness.until(() => accepted().some(({ state }) => state === 'fulfilled'), 'the next one is served', 60_000);
    expect(countNodes()).toBe(2);
  });

  it('does not affect other tenants', async () => {
    for (let i = 0; i < 4; i++) await ask(['small']);
    for (let i = 0; i < 4; i++) await ask(['small'], 'another');

    await harness.pass(60_000);

    expect(
      accepted()
        .map(({ tenantName }) => tenantName)
        .sort(),
    ).toEqual([...Array<string>(4).fill('another'), ...Array<string>(LIMIT).fill(TENANT)]);
  });
});
