import type { LeaseInfo } from '@nodepool/client';
import { formatAge, withRanks, type Listing } from '@nodepool/core/service';

/** Columns of a list of leases. */
export const leaseListing: Listing<LeaseInfo> = withRanks(
  [
    { key: 'id', header: 'ID', level: 'brief', value: ({ id }) => id },
    { key: 'state', header: 'State', level: 'brief', value: ({ state }) => state },
    { key: 'labels', header: 'Labels', level: 'brief', value: ({ labels }) => [...labels] },
    {
      ...{ key: 'hosts', header: 'Hosts', level: 'brief' },
      value: ({ nodes }) => nodes.map(({ host, id }) => host ?? id),
    },
    {
      ...{ key: 'age', header: 'Age', level: 'brief', isChanging: true },
      value: ({ createdTime }, nowMs) => formatAge(nowMs - createdTime.getTime()),
    },
    { key: 'expires', header: 'Expires', level: 'brief', value: ({ expires }) => expires?.toISOString() ?? null },
    { key: 'owner', header: 'Owner', level: 'detail', value: ({ owner }) => owner },
    { key: 'reason', header: 'Reason', level: 'detail', value: ({ reason }) => reason },
  ],
  { whole: ['id'], spare: ['age', 'expires', 'hosts'] },
);
