import type { RequestId } from '@nodepool/zk-protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Harness } from '../../src/testing/harness/harness.js';
import { databaseTag } from '../../src/cloud/ownership/ownership.js';
import { NODE_ID_TAG, PROVIDER_TAG } from '../../src/contract/instance.js';
import { honestDriver, invalidConfigs, validConfig } from '../contract/honest-driver.js';
import { TestCloud } from '../contract/test-cloud.js';

const MANY = 30;
const roomy = { adapter: () => ({ getQuotaLimits: () => Promise.resolve({ instances: MANY }) }) };

describe('concurrent work', () => {
  const warnings: string[] = [];
  const note = ({ message }: Error) => warnings.push(message);
  let harness: Harness;
  let cloud: TestCloud;

  beforeEach(async () => {
    warnings.length = 0;
    process.on('warning', note);
    cloud = new TestCloud();
    const driver = honestDriver(() => cloud, roomy);
    harness = await Harness.open({ driver, cloud: () => cloud, validConfig, invalidConfigs });
  });

  afterEach(async () => {
    process.off('warning', note);
    await harness.close();
  });

  it('does not trigger listener leak warnings when one request wants many nodes', async () => {
    const [label] = await harness.configuration.labels();
    await harness.startLauncher();

    const { nodes } = await harness.take(Array<string>(MANY).fill(label));

    expect(nodes).toHaveLength(MANY);
    expect(warnings).toEqual([]);
  });

  it('does not trigger listener leak warnings when many requests are abandoned with the connection', async () => {
    const [label] = await harness.configuration.labels();
    const { link } = await harness.startLauncher();
    const requests = await Promise.all(Array.from({ length: MANY }, () => harness.submit([label])));
    const isPending = (id: RequestId) => harness.history.requests.get(id)?.state === 'pending';
    let broken = false;
    harness.history.onWrite = () => {
      if (broken || !requests.every(isPending)) return;
      broken = true;
      link.break(); // before any answer arrives
    };

    await harness.until(() => broken, 'all requests are accepted');
    for (const request of requests) await harness.fulfilled(request);
    expect(warnings).toEqual([]);
  });

  it('does not trigger listener leak warnings when many leaked instances are deleted', async () => {
    const ofUnknownNode = (i: number) => ({
      [PROVIDER_TAG]: 'test',
      [NODE_ID_TAG]: String(9_000 + i).padStart(10, '0'),
    });
    const { launcher } = await harness.startLauncher();
    const { databaseId } = launcher;
    for (let i = 0; i < MANY; i++) await cloud.create({ ...ofUnknownNode(i), ...databaseTag(databaseId) }, 'a');

    await harness.until(() => cloud.machines.size === 0, 'all of them are gone');

    expect(warnings).toEqual([]);
  });
});
