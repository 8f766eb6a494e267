import { totalOf, type Amounts, type UsageKey, type UsageRow } from '@nodepool/history';
import { USAGE_PHASES, type Column, type Listing } from '@nodepool/core/service';

const HOUR_S = 3_600;
const GIB_HOUR = HOUR_S * 1_024;

/** Seconds in JSON and CSV, hours in a table. */
const AMOUNTS = [
  { amount: 'nodeS', key: 'node_seconds', header: 'Node-Hours', per: HOUR_S, digits: 1 },
  { amount: 'coreS', key: 'core_seconds', header: 'Core-Hours', per: HOUR_S, digits: 1 },
  { amount: 'ramMibS', key: 'ram_mib_seconds', header: 'RAM GiB-Hours', per: GIB_HOUR, digits: 1 },
  { amount: 'cost', key: 'cost', header: 'Cost', per: 1, digits: 2 },
] as const satisfies readonly { amount: keyof Amounts; key: string; header: string; per: number; digits: number }[];

/** The columns of usage: node-hours by phase, and the sums; by name also each amount by phase. */
export function usageListing(by: UsageKey): Listing<UsageRow> {
  const name: Column<UsageRow> = {
    ...{ key: by, header: `${by.charAt(0).toUpperCase()}${by.slice(1)}`, level: 'brief' },
    value: ({ key }) => key,
    cell: ({ key }) => key ?? '-',
  };
  const phases = AMOUNTS.map((amount) =>
    USAGE_PHASES.map((phase) => ({
      ...amountColumn(amount, ({ phases: all }) => all[phase]),
      key: `${amount.key}_${phase}`,
      header: amount.amount === 'nodeS' ? titleOf(phase) : `${titleOf(phase)} ${amount.header}`,
      level: amount.amount === 'nodeS' ? ('brief' as const) : ('extra' as const),
    })),
  );
  return [
    name,
    ...(phases[0] ?? []),
    ...AMOUNTS.map((amount) => amountColumn(amount, totalOf)),
    ...phases.slice(1).flat(),
  ];
}

function amountColumn(
  { amount, key, header, per, digits }: (typeof AMOUNTS)[number],
  of: (row: UsageRow) => Amounts,
): Column<UsageRow> {
  return {
    ...{ key, header, level: 'brief' },
    value: (row) => {
      const value = of(row)[amount];
      return value === undefined ? null : Math.round(value * 1000) / 1000;
    },
    cell: (row) => {
      const value = of(row)[amount];
      return value === undefined ? '-' : (value / per).toFixed(digits);
    },
  };
}

function titleOf(phase: string): string {
  return `${phase.charAt(0).toUpperCase()}${phase.slice(1)}`;
}
