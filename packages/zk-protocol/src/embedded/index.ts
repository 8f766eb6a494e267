export { startEmbeddedServer } from './server/start.js';
export { EmbeddedServerError } from './contract/errors.js';
export { ServerModel } from './model/server-model.js';
export { createModelConnection } from './model/connection.js';
export { isDirectoryInUse } from './storage/directory-lock.js';
export { nodeFileSystem } from './storage/file-system.js';
export type { EmbeddedLogger } from './contract/logger.js';
export type { EmbeddedServer, EmbeddedServerOptions } from './server/types.js';
export type { EmbeddedServerErrorCode } from './contract/errors.js';
export type { FileSystem, StorageFile } from './storage/file-system.js';
export type { ModelOptions, TimePassed } from './model/server-model.js';
export type { AuthId, ModelConnection } from './model/connection.js';
export type { Session } from './model/sessions.js';
export type { Change, Transaction } from './model/transactions.js';
export type {
  CreateOp,
  CreateRequest,
  MultiPart,
  ReadPart,
  Request,
  SetWatchesRequest,
  WatcherType,
} from './model/requests.js';
export type {
  ClientInfo,
  MultiResult,
  NodeStat,
  Notification,
  Outcome,
  ReadResult,
  Reply,
  ReplyBody,
} from './model/replies.js';
