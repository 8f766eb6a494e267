import { newNode, newRequest } from '@nodepool/zk-protocol';
import type { LockAware, NodeId, NodeRecord, RecordCache, RequestId, RequestRecord } from '@nodepool/zk-protocol';

/** A record cache whose content the test sets. */
export function tableCache<T>(records: Record<string, T>): RecordCache<T> {
  const map = new Map(Object.entries(records));
  return {
    start: () => Promise.resolve(),
    stop() {},
    ready: true,
    whenReady: () => Promise.resolve(),
    get size() {
      return map.size;
    },
    get: (id) => map.get(id),
    values: () => map.values(),
    eventQueue: 0,
    playbackQueue: 0,
    settle: () => Promise.resolve(),
    onChange: () => () => {},
    onReady: () => () => {},
  };
}

/** The same for nodes; `locked` names those with a contender. */
export function nodeTable(
  records: readonly NodeRecord[],
  locked: readonly string[],
): RecordCache<NodeRecord> & LockAware {
  return Object.assign(tableCache(Object.fromEntries(records.map((node) => [node.id, node]))), {
    contenders: (id: string) => (locked.includes(id) ? 1 : 0),
    hasLockDirectory: (id: string) => locked.includes(id),
    onLockChange: () => () => {},
  } satisfies LockAware);
}

/** A free ready node. */
export function node(id: string, changes: Partial<NodeRecord> = {}): NodeRecord {
  const fields = { provider: 'rack', pool: 'main', labels: ['small'], username: 'zuul', createdTimeMs: null } as const;
  return { ...newNode({ state: 'ready', ...fields }, 0), id: id as NodeId, ...changes };
}

/** A waiting request of Zuul's. */
export function request(id: string, changes: Partial<RequestRecord> = {}): RequestRecord {
  const zuul = { requestor: 'zuul-system', eventId: 'event', tenantName: 'tenant', relativePriority: 3 };
  const asked = newRequest({ labels: ['small', 'big'], ...zuul }, 1_600_000_000_500);
  return { ...asked, id: id as RequestId, ...changes };
}
