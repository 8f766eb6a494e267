import type { RequestId } from '@nodepool/zk-protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Bench } from '../src/testing/bench/bench.js';
import { honestDriver, validConfig } from './contract/honest-driver.js';
import { TestCloud } from './contract/test-cloud.js';

const MANY = 30;
const roomy = { adapter: () => ({ getQuotaLimits: () => Promise.resolve({ instances: MANY }) }) };

describe('much at the same time', () => {
  const warnings: string[] = [];
  const note = ({ message }: Error) => warnings.push(message);
  let bench: Bench;

  beforeEach(async () => {
    warnings.length = 0;
    process.on('warning', note);
    const cloud = new TestCloud();
    bench = await Bench.open({ driver: honestDriver(() => cloud, roomy), cloud: () => cloud, validConfig });
  });

  afterEach(async () => {
    process.off('warning', note);
    await bench.close();
  });

  it('is not taken for a leak of listeners when one request wants many nodes', async () => {
    const [label] = await bench.labels();
    await bench.startLauncher();

    const { nodes } = await bench.take(Array<string>(MANY).fill(label));

    expect(nodes).toHaveLength(MANY);
    expect(warnings).toEqual([]);
  });

  it('is not taken for a leak of listeners when many requests are abandoned with the connection', async () => {
    const [label] = await bench.labels();
    const { zk } = await bench.startLauncher();
    const requests = await Promise.all(Array.from({ length: MANY }, () => bench.submit([label])));
    const isPending = (id: RequestId) => bench.books.requests.get(id)?.state === 'pending';
    let broken = false;
    bench.books.onWrite = () => {
      if (broken || !requests.every(isPending)) return;
      broken = true;
      zk.breakConnection(); // before any answer has arrived
    };

    await bench.until(() => broken, 'all requests are accepted');
    for (const request of requests) await bench.fulfilled(request);
    expect(warnings).toEqual([]);
  });
});
