import type { StandbyFigures } from '@nodepool/history';
import type { StandbyReplay } from '@nodepool/history/replay';
import { durationText, type Column, type Listing } from '@nodepool/core/service';

/** One label with one number of standby nodes. */
interface StandbyRow extends StandbyFigures {
  readonly label: string;
  readonly policy: 'recorded' | 'auto' | 'constant' | 'clairvoyant';
}

const POLICIES = ['recorded', 'auto', 'constant', 'clairvoyant'] as const;

/** Four rows for each label: as it was, the forecast, the best constant, and the bound of a clairvoyant. */
export function standbyRows(replays: readonly StandbyReplay[]): StandbyRow[] {
  return replays.flatMap((replay) => POLICIES.map((policy) => ({ label: replay.label, policy, ...replay[policy] })));
}

function wait(key: string, header: string, figure: 'p50Ms' | 'p95Ms' | 'p99Ms'): Column<StandbyRow> {
  return {
    ...{ key, header, level: 'brief' },
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
  { key: 'requests', header: 'Requests', level: 'brief', value: ({ requests }) => requests },
  wait('p50', 'P50', 'p50Ms'),
  wait('p95', 'P95', 'p95Ms'),
  wait('p99', 'P99', 'p99Ms'),
  {
    ...{ key: 'idle_hours', header: 'Idle Node-Hours', level: 'brief' },
    value: ({ idleHours }) => Math.round(idleHours * 100) / 100,
    cell: ({ idleHours }) => idleHours.toFixed(1),
  },
];
