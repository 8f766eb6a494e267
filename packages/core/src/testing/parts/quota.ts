import assert from 'node:assert/strict';
import type { Resources } from '@nodepool/zk-protocol';
import type { Harness } from '../harness/harness.js';
import type { QuotaSupport } from '../../contract/driver.js';
import type { ContractPart, PartTest } from '../harness/part.js';

const KNOWN_WITHIN_MS = 600_000;

/** Accounting for quota and capacity. */
export const quota: ContractPart = {
  name: 'quota',
  applies: ({ launches }) => launches,
  tests: () => tests,
};

const tests: readonly PartTest[] = [
  {
    name: 'says what a node of each label needs',
    run: async ({ harness }) => {
      const { provider } = await harness.startLauncher();
      for (const pool of provider.config.pools.values()) {
        for (const label of pool.labels.keys()) {
          const need = provider.quota?.quotaNeededByLabel(label, pool) ?? { instances: 1 };
          assertAmounts(need, `need of label "${label}"`);
          const isFinite = Object.values(need).every(Number.isFinite);
          assert.ok(isFinite, `need of label "${label}": no cloud can give an infinite amount`);
          assert.ok((need['instances'] ?? 0) >= 1, `a node of label "${label}" needs at least one instance`);
        }
      }
    },
  },
  {
    name: 'knows its limits soon after it has started',
    run: async ({ harness }) => {
      const { provider } = await harness.startLauncher();
      const limits = await known(harness, provider.quota);
      assertAmounts(limits, 'limits');
      const isFinite = Number.isFinite(limits['instances'] ?? Infinity);
      assert.ok(!isFinite || !harness.cloud.impossible?.includes('quota'), 'a cloud with limits can fail for quota');
    },
  },
  {
    name: 'knows the limits of the cloud',
    run: async ({ harness }) => {
      const { cloud } = harness;
      if (harness.isUnseen('quota') || cloud.impossible?.includes('quota')) return;
      assert.ok(
        cloud.limits,
        'the cloud of this test can refuse for its quota: say in its `limits` what it allows, e.g. { instances: 20 }; ' +
          '{} if it does not tell; or list "quota" as impossible',
      );
      const { provider } = await harness.startLauncher();
      const limits = await known(harness, provider.quota);
      for (const [name, limit] of Object.entries(cloud.limits)) {
        assert.equal(
          limits[name],
          limit,
          `the driver takes ${String(limits[name] ?? 'no limit')} for the limit of ${name}, the cloud allows ${limit}: requests ` +
            'beyond the limit would be launched and refused; read the limits in getQuotaLimits',
        );
      }
    },
  },
  {
    name: 'reads its limits again when they proved wrong',
    run: async ({ harness }) => {
      const { provider } = await harness.startLauncher();
      await known(harness, provider.quota);
      provider.quota?.invalidateQuotaCache();
      provider.quota?.invalidateQuotaCache();
      assertAmounts(await known(harness, provider.quota), 'limits');
    },
  },
  {
    name: 'calls no label unusable that it can make',
    run: async ({ harness }) => {
      const { provider } = await harness.startLauncher();
      await known(harness, provider.quota);
      assert.ok(provider.errorLabels() instanceof Set, 'errorLabels is a Set');
      assert.deepEqual([...provider.errorLabels()], []);
    },
  },
];

/** Waits until the limits are known. A driver without quota has none. */
async function known(harness: Harness, quotaOf: QuotaSupport | undefined): Promise<Resources> {
  if (!quotaOf) return {};
  let limits: Resources | undefined;
  await harness.until(
    () => (limits = quotaOf.estimatedNodepoolQuota()) !== undefined,
    'estimatedNodepoolQuota is known: it may be undefined only for a while',
    KNOWN_WITHIN_MS,
  );
  return limits ?? {};
}

function assertAmounts(amounts: Resources, what: string): void {
  assert.equal(typeof amounts, 'object', `${what}: a map of amounts`);
  assert.ok(!('then' in amounts), `${what}: known at once, not a promise`);
  for (const [name, amount] of Object.entries(amounts)) {
    assert.ok(
      typeof amount === 'number' && !Number.isNaN(amount),
      `${what}: ${name} is ${String(amount)}, not a number`,
    );
    assert.ok(amount >= 0, `${what}: ${name} is ${amount}; what has no limit is left out`);
  }
}
