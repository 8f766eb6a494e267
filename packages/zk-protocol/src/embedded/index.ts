export { startEmbeddedServer } from './server/start.js';
export { EmbeddedServerError } from './contract/errors.js';
export { isDirectoryInUse } from './storage/directory-lock.js';
export type { EmbeddedLogger } from './contract/logger.js';
export type { EmbeddedServer, EmbeddedServerOptions } from './server/types.js';
export type { EmbeddedServerErrorCode } from './contract/errors.js';
export type { FileSystem, StorageFile } from './storage/file-system.js';
