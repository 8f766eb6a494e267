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
  return {
    id: id as NodeId,
    raw: {},
    stat: undefined,
    state: 'ready',
    stateTimeMs: 0,
    createdTimeMs: null,
    cloud: null,
    provider: 'rack',
    pool: 'main',
    labels: ['small'],
    allocatedTo: null,
    az: null,
    region: null,
    publicIpv4: null,
    privateIpv4: null,
    publicIpv6: null,
    hostId: null,
    interfaceIp: null,
    connectionPort: 22,
    imageId: null,
    launcher: null,
    externalId: null,
    hostname: null,
    comment: null,
    userData: null,
    holdJob: null,
    hostKeys: [],
    username: 'zuul',
    connectionType: null,
    shellType: null,
    holdExpirationMs: null,
    resources: null,
    slot: null,
    attributes: null,
    pythonPath: null,
    tenantName: null,
    driverData: null,
    requestor: null,
    launchError: null,
    ...changes,
  };
}

/** A waiting request of Zuul's. */
export function request(id: string, changes: Partial<RequestRecord> = {}): RequestRecord {
  return {
    id: id as RequestId,
    raw: {},
    stat: undefined,
    state: 'requested',
    stateTimeMs: 1_600_000_000_500,
    declinedBy: [],
    labels: ['small', 'big'],
    nodeIds: [],
    reuse: true,
    requestor: 'zuul-system',
    requestorData: null,
    provider: null,
    relativePriority: 3,
    eventId: 'event',
    createdTimeMs: null,
    tenantName: 'tenant',
    declineReasons: {},
    launchError: null,
    ...changes,
  };
}
