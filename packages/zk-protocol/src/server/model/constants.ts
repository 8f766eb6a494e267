/** Request types of the ZooKeeper protocol that this server supports. */
export const OpCode = {
  create: 1,
  delete: 2,
  exists: 3,
  getData: 4,
  setData: 5,
  getAcl: 6,
  setAcl: 7,
  getChildren: 8,
  sync: 9,
  ping: 11,
  getChildren2: 12,
  check: 13,
  multi: 14,
  create2: 15,
  reconfig: 16,
  checkWatches: 17,
  removeWatches: 18,
  createContainer: 19,
  createTtl: 21,
  multiRead: 22,
  auth: 100,
  setWatches: 101,
  sasl: 102,
  getEphemerals: 103,
  getAllChildrenNumber: 104,
  setWatches2: 105,
  addWatch: 106,
  whoAmI: 107,
  closeSession: -11,
  error: -1,
} as const;

/** Request ids with a fixed meaning. */
export const Xid = { event: -1, ping: -2, auth: -4 } as const;

/** Error numbers of the ZooKeeper protocol that this server sends. */
export const ErrorCode = {
  ok: 0,
  runtimeInconsistency: -2,
  marshalling: -5,
  unimplemented: -6,
  badArguments: -8,
  noNode: -101,
  noAuth: -102,
  badVersion: -103,
  noChildrenForEphemerals: -108,
  nodeExists: -110,
  notEmpty: -111,
  sessionExpired: -112,
  invalidAcl: -114,
  authFailed: -115,
  noWatcher: -121,
  reconfigDisabled: -123,
  quotaExceeded: -125,
} as const;

/** Numbers of watch events. */
export const EventType = { created: 1, deleted: 2, changed: 3, children: 4 } as const;

/** Type of a watch event: created (1), deleted (2), changed (3), children changed (4). */
export type EventTypeNumber = 1 | 2 | 3 | 4;

/** `state` field of every watch event: connected. */
export const EVENT_STATE_CONNECTED = 3;

/** Largest accepted packet, in bytes; `jute.maxbuffer` in ZooKeeper. */
export const MAX_PACKET_BYTES = 0xfffff;
