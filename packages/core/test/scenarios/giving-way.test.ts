import {
  encodeRequest,
  newRequest,
  requestCreatePath,
  REQUESTS_ROOT,
  type RequestId,
  type Resources,
} from '@nodepool/zk-protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Harness } from '../../src/testing/harness/harness.js';
import type { TestLauncher } from '../../src/testing/harness/launcher.js';
import { honestDriver, invalidConfigs, validConfig } from '../contract/honest-driver.js';
import { TestCloud } from '../contract/test-cloud.js';

/** Capacity for one request, in addition to a node that stays in use. */
const QUOTA = 3;
const PAIR = ['small', 'small'];

describe('two requests that each hold nodes the other waits for', () => {
  /** Quota that each launcher sees, in the order of their start. */
  const limits: Resources[] = [];
  let harness: Harness;

  beforeEach(async () => {
    limits.length = 0;
    const cloud = new TestCloud();
    const adapter = () => {
      const index = limits.push({ instances: QUOTA - 1 }) - 1;
      return { getQuotaLimits: () => Promise.resolve(limits[index] ?? {}) };
    };
    const driver = honestDriver(() => cloud, { adapter });
    harness = await Harness.open({ driver, cloud: () => cloud, validConfig, invalidConfigs });
  });

  afterEach(() => harness.close());

  async function ask({ zk }: TestLauncher, priority: number): Promise<RequestId> {
    const body = encodeRequest(newRequest({ labels: PAIR, requestor: 'zuul' }, harness.cloud.clock.now()));
    await harness.during(zk.ensurePath(REQUESTS_ROOT), 'there is a place for requests');
    const created = zk.create(requestCreatePath(priority), body, { sequential: true });
    return (await harness.during(created, 'a request is submitted')).slice(REQUESTS_ROOT.length + 1) as RequestId;
  }

  const held = (id: RequestId) =>
    harness.ownNodes().filter(({ allocatedTo, state }) => allocatedTo === id && state === 'ready');
  const stateOf = (id: RequestId) => harness.history.requests.get(id)?.state;
  const end = (id: RequestId) => harness.until(() => stateOf(id) === 'fulfilled', 'the request is served', 600_000);

  it('in two launchers are served one after the other', async () => {
    const first = await harness.startLauncher();
    await harness.take(['small']);
    const late = await ask(first, 300);
    await harness.until(() => held(late).length === 1, 'it has its first node');
    const second = await harness.startLauncher();
    limits[1] = { instances: QUOTA };
    const early = await ask(second, 100);
    await harness.until(() => held(early).length === 1, 'the other has its first node', 600_000);
    limits[0] = { instances: QUOTA };
    expect([stateOf(early), stateOf(late)]).toEqual(['pending', 'pending']);

    await end(early);
    expect(held(early)).toHaveLength(PAIR.length);
    await harness.forget(early); // frees its nodes

    await end(late);
    expect(held(late)).toHaveLength(PAIR.length);
  });
});
