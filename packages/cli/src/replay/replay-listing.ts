import type { LabelFigures, ReplayedLabel } from '@nodepool/history/replay';
import type { Column, Listing } from '@nodepool/core/service';
import { durationText } from '@nodepool/core/service';

type Side = 'recorded' | 'replayed';
type Figure = keyof LabelFigures;

/** Two columns of one figure: recorded and replayed. */
function pair(
  figure: Figure,
  header: string,
  { key = figure, level = 'brief' }: { key?: string; level?: Column<ReplayedLabel>['level'] } = {},
): Column<ReplayedLabel>[] {
  const isTime = figure.endsWith('Ms');
  const column = (side: Side, title: string): Column<ReplayedLabel> => ({
    key: `${key}_${side}`,
    header: title,
    level,
    value: (row) => {
      const value = row[side]?.[figure];
      if (value === undefined) return null;
      return isTime ? value / 1000 : value;
    },
    ...(isTime && {
      cell: (row) => {
        const ms = row[side]?.[figure];
        return ms === undefined ? '-' : durationText(ms / 1000);
      },
    }),
  });
  return [column('recorded', header), column('replayed', `${header} New`)];
}

/** What a replay shows of each label. */
export const replayListing: Listing<ReplayedLabel> = [
  { key: 'label', header: 'Label', level: 'brief', value: ({ label }) => label },
  {
    ...{ key: 'requests', header: 'Requests', level: 'brief' },
    value: ({ recorded, replayed }) => (recorded ?? replayed)?.requests ?? 0,
  },
  ...pair('p50Ms', 'P50', { key: 'p50' }),
  ...pair('p95Ms', 'P95', { key: 'p95' }),
  ...pair('peak', 'Peak'),
  ...pair('failed', 'Failed'),
  ...pair('withdrawn', 'Withdrawn', { level: 'extra' }),
  ...pair('open', 'Open', { level: 'extra' }),
];
