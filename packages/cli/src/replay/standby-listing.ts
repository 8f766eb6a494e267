import type { StandbyFigures } from '@nodepool/history';
import type { StandbyReplay } from '@nodepool/history/replay';
import { durationText, type Column, type Listing } from '@nodepool/core/service';

/** One label with one number of standby nodes. */
interface StandbyRow extends StandbyFigures {
  readonly label: string;
  readonly policy: Policy;
}

const POLICIES = ['recorded', 'configured', 'follow', 'schedule', 'auto', 'constant', 'clairvoyant'] as const;
type Policy = (typeof POLICIES)[number];

/** Rows of each label: as it was, with the configuration, with other numbers, and the bound of a clairvoyant. */
export function standbyRows(replays: readonly StandbyReplay[]): StandbyRow[] {
  return replays.flatMap((replay) =>
    POLICIES.flatMap((policy) => {
      const figures = replay[policy];
      return figures ? [{ label: replay.label, policy, ...figures }] : [];
    }),
  );
}

function wait(key: string, header: string, figure: 'p50Ms' | 'p95Ms' | 'p99Ms'): Column<StandbyRow> {
  return {
    ...{ key, header, level: figure === 'p95Ms' ? 'brief' : 'extra' },
    value: (row) => row[figure] / 1000,
    cell: (row) => durationText(row[figure] / 1000),
  };
}

/** What `replay --standby` shows. */
export const standbyListing: Listing<StandbyRow> = [
  { key: 'label', header: 'Label', level: 'brief', value: ({ label }) => label },
  { key: 'policy', header: 'Standby', level: 'brief', value: ({ policy }) => policy },
  {
    key: 'nodes',
    header: 'Nodes',
    level: 'brief',
    value: ({ nodes }) => nodes ?? null,
    cell: ({ nodes }) => nodes ?? '-',
  },
  { key: 'requests', header: 'Requests', level: 'extra', value: ({ requests }) => requests },
  {
    ...{ key: 'at_once', header: 'At Once', level: 'brief' },
    value: ({ atOnce }) => Math.round(atOnce * 1000) / 10,
    cell: ({ atOnce }) => `${(atOnce * 100).toFixed(1)} %`,
  },
  wait('p50', 'P50', 'p50Ms'),
  wait('p95', 'P95', 'p95Ms'),
  wait('p99', 'P99', 'p99Ms'),
  {
    ...{ key: 'idle_hours', header: 'Idle Node-Hours', level: 'brief' },
    value: ({ idleHours }) => Math.round(idleHours * 100) / 100,
    cell: ({ idleHours }) => idleHours.toFixed(1),
  },
  {
    ...{ key: 'boot_hours', header: 'Boot-Hours', level: 'extra' },
    value: ({ bootHours }) => (bootHours === undefined ? null : Math.round(bootHours * 100) / 100),
    cell: ({ bootHours }) => bootHours?.toFixed(1) ?? '-',
  },
  {
    ...{ key: 'unused', header: 'Unused', level: 'brief' },
    value: ({ unused }) => unused ?? null,
    cell: ({ unused }) => unused ?? '-',
  },
];
