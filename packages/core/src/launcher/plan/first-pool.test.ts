import type { LauncherId } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { firstPoolFor } from './first-pool.js';

const pools = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ launcherId: `nl${i}-PoolWorker.cloud-${i}-main-id` as LauncherId }));
const requests = Array.from({ length: 4_000 }, (_, i) => `200-${String(i).padStart(10, '0')}`);

describe('the first pool of a request', () => {
  it('is the same in whatever order the pools are known', () => {
    const known = pools(8);

    for (const id of requests.slice(0, 100)) {
      expect(firstPoolFor(id, known.toReversed())).toBe(firstPoolFor(id, known));
    }
  });

  it.each([2, 4, 8])('is each of %i pools equally often', (count) => {
    const known = pools(count);

    const served = new Map<string, number>();
    for (const id of requests) {
      const { launcherId = '' } = firstPoolFor(id, known) ?? {};
      served.set(launcherId, (served.get(launcherId) ?? 0) + 1);
    }

    const shares = [...served.values()].map((times) => (times * count) / requests.length);
    expect(shares).toHaveLength(count);
    expect(Math.min(...shares)).toBeGreaterThan(0.85);
    expect(Math.max(...shares)).toBeLessThan(1.15);
  });

  it('changes for no request but those of a pool that goes', () => {
    const known = pools(5);
    const [gone, ...left] = known;

    for (const id of requests.slice(0, 500)) {
      const first = firstPoolFor(id, known);
      if (first !== gone) expect(firstPoolFor(id, left)).toBe(first);
    }
  });

  it('is none when no pool could serve it', () => {
    expect(firstPoolFor('200-0000000001', [])).toBeUndefined();
  });
});
