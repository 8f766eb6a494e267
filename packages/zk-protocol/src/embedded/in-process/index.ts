export { InProcessServer } from './in-process-server.js';
export { InProcessZooKeeper } from './in-process-zookeeper.js';
export { perfectConditions } from './conditions.js';
export type { LinkConditions } from './conditions.js';
export type { InProcessOptions } from './in-process-session.js';
export type { Receiver, TransactionListener } from './in-process-server.js';

/* What a session and its server say to each other */
export type { AuthId, ModelConnection } from '../model/connection.js';
export type { EventTypeNumber } from '../model/constants.js';
export type {
  ClientInfo,
  MultiResult,
  NodeStat,
  Notification,
  ReadResult,
  Reply,
  ReplyBody,
} from '../model/replies.js';
export type {
  CreateOp,
  CreateRequest,
  MultiPart,
  ReadPart,
  Request,
  SetWatchesRequest,
  WatcherType,
} from '../model/requests.js';
export type { ModelOptions } from '../model/server-model.js';
export type { OfferedSession, Session } from '../model/sessions.js';
export type { Change, Transaction } from '../model/transactions.js';
