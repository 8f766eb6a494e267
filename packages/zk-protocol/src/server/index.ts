export { startEmbeddedServer } from './start.js';
export { EmbeddedServerError } from './storage/server-error.js';
export { StoredDatabase } from './storage/stored-database.js';
export type { StoredZnode } from './storage/stored-database.js';
export { readMoveNote } from './storage/move-note.js';
export type { MoveNote } from './storage/move-note.js';
export type { EmbeddedServer, EmbeddedServerOptions } from './types.js';
export type { EmbeddedServerErrorCode } from './storage/server-error.js';
export type { FileSystem, StorageFile } from './storage/file-system.js';
