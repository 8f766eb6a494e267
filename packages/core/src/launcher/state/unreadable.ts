import type { LeaseRecord, NodeRecord, RecordCache, RequestRecord } from '@nodepool/zk-protocol';

/** Whether a record exists and its body is malformed. The cache may show an earlier version of it. */
export function isUnreadable(
  { unreadable }: Pick<RecordCache<NodeRecord | RequestRecord | LeaseRecord>, 'unreadable'>,
  id: string,
): boolean {
  return unreadable.some((record) => record.id === id);
}
