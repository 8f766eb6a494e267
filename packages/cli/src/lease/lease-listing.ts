import type { LeaseInfo } from '@nodepool/client';
import { formatAge, type Listing } from '@nodepool/core/service';

/** Columns of a list of leases. */
export const leaseListing: Listing<LeaseInfo> = [
  { key: 'id', header: 'ID', level: 'brief', isWhole: true, value: ({ id }) => id },
  { key: 'state', header: 'State', level: 'brief', value: ({ state }) => state },
  { key: 'labels', header: 'Labels', level: 'brief', value: ({ labels }) => [...labels] },
  {
    ...{ key: 'hosts', header: 'Hosts', level: 'brief', spare: 1 },
    value: ({ nodes }) => nodes.map(({ host, id }) => host ?? id),
  },
  {
    ...{ key: 'age', header: 'Age', level: 'brief', spare: 3, isChanging: true },
    value: ({ createdTime }, nowMs) => formatAge(nowMs - createdTime.getTime()),
  },
  {
    key: 'expires',
    header: 'Expires',
    level: 'brief',
    spare: 2,
    value: ({ expires }) => expires?.toISOString() ?? null,
  },
  { key: 'owner', header: 'Owner', level: 'detail', value: ({ owner }) => owner },
  { key: 'reason', header: 'Reason', level: 'detail', value: ({ reason }) => reason },
];
