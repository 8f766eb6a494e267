import type { RecordCache } from '@nodepool/zk-protocol';

/** Whether a record exists and its body is malformed. The cache may show an earlier version of it. */
export function isUnreadable({ unreadable }: Pick<RecordCache<object>, 'unreadable'>, id: string): boolean {
  return unreadable.some((record) => record.id === id);
}
