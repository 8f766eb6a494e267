/** Request types of the ZooKeeper protocol that this client sends. */
export const OpCode = {
  CREATE: 1,
  DELETE: 2,
  EXISTS: 3,
  GET_DATA: 4,
  SET_DATA: 5,
  GET_ACL: 6,
  SET_ACL: 7,
  GET_CHILDREN: 8,
  SYNC: 9,
  PING: 11,
  GET_CHILDREN2: 12,
  CHECK: 13,
  MULTI: 14,
  CREATE2: 15,
  REMOVE_WATCHES: 18,
  CREATE_CONTAINER: 19,
  CREATE_TTL: 21,
  MULTI_READ: 22,
  AUTH: 100,
  SET_WATCHES2: 105,
  ADD_WATCH: 106,
  CLOSE_SESSION: -11,
  ERROR: -1,
} as const;

/** Transaction ids with a fixed meaning; ordinary requests count up from 1. */
export const Xid = {
  NOTIFICATION: -1,
  PING: -2,
  AUTH: -4,
  SET_WATCHES: -8,
} as const;

/** Flags of a create request. */
export const CreateFlag = {
  EPHEMERAL: 1,
  SEQUENTIAL: 2,
  CONTAINER: 4,
  PERSISTENT_WITH_TTL: 5,
  PERSISTENT_SEQUENTIAL_WITH_TTL: 6,
} as const;

/** Mode numbers of an addWatch request. */
export const AddWatchMode = { persistent: 0, 'persistent-recursive': 1 } as const;

/** Watcher type of a removeWatches request: data and child watches. */
export const WATCHER_TYPE_ANY = 3;
