export { startEmbeddedServer } from './server/start.js';
export { EmbeddedServerError } from './contract/errors.js';
export { StoredDatabase } from './storage/stored-database.js';
export type { StoredZnode } from './storage/stored-database.js';
export type { MoveNote } from './storage/move-note.js';
export type { EmbeddedLogger } from './contract/logger.js';
export type { EmbeddedServer, EmbeddedServerOptions } from './server/types.js';
export type { EmbeddedServerErrorCode } from './contract/errors.js';
export type { FileSystem, StorageFile } from './storage/file-system.js';
