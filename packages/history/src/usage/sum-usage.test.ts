import { expect, it } from 'vitest';
import { pastEvent } from '../record/event.js';
import { sumUsage, totalOf } from './sum-usage.js';
import { UsageRecord } from './usage-record.js';

const HOUR_MS = 3_600_000;

function record(): UsageRecord {
  const usage = new UsageRecord();
  for (const [i, label] of ['small', 'big', 'big'].entries())
    usage.add({
      ...{ kind: 'node', id: String(i), isFirst: true },
      facts: { request: undefined, labels: [label], pool: 'my/cloud/main', resources: { cores: 4, ram: 512 } },
      events: [
        pastEvent(0, 'state', '', 'building'),
        pastEvent(HOUR_MS, 'state', '', 'hold'),
        pastEvent(3 * HOUR_MS, 'gone'),
      ],
    });
  return usage;
}

const options = { sinceMs: 0, untilMs: 9 * HOUR_MS, exists: () => undefined };

it('adds up resources and cost, the largest first', () => {
  const { rows } = sumUsage(record(), { ...options, by: 'label', priceOf: (label) => (label === 'big' ? 2 : 1) });

  expect(rows.map(({ key }) => key)).toEqual(['big', 'small']);
  expect(rows[0]?.phases.hold).toEqual({ nodeS: 4 * 3_600, coreS: 16 * 3_600, ramMibS: 4 * 3_600 * 512, cost: 8 });
  expect(rows.map((row) => totalOf(row).cost)).toEqual([12, 3]);
});

it('has no cost where no price applies, and says so only if there are others', () => {
  const none = sumUsage(record(), { ...options, by: 'provider', priceOf: () => undefined });
  const some = sumUsage(record(), {
    ...options,
    by: 'provider',
    priceOf: (label) => (label === 'big' ? 0 : undefined),
  });

  expect(none.rows.map((row) => [row.key, totalOf(row).cost])).toEqual([['my/cloud', undefined]]);
  expect(none.notes).toEqual([]);
  expect(some.rows.map((row) => totalOf(row).cost)).toEqual([0]);
  expect(some.notes).toEqual(['no price for label "small" of my/cloud: their cost is missing']);
});
