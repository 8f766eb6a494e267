import { NodepoolError } from '../base/errors.js';

/**
 * - `ZK_EMBEDDED_LOCKED` another server uses the data directory
 * - `ZK_EMBEDDED_LOST` another server took the data directory over while this process was stopped, or it was removed
 * - `ZK_EMBEDDED_MOVED` the content of the data directory was moved to an ensemble
 * - `ZK_EMBEDDED_CORRUPT` files in the data directory are damaged beyond what a crash can cause
 * - `ZK_EMBEDDED_IO` the data directory cannot be read or written
 * - `ZK_EMBEDDED_LISTEN` the address cannot be listened on
 */
export type EmbeddedServerErrorCode =
  | 'ZK_EMBEDDED_LOCKED'
  | 'ZK_EMBEDDED_LOST'
  | 'ZK_EMBEDDED_MOVED'
  | 'ZK_EMBEDDED_CORRUPT'
  | 'ZK_EMBEDDED_IO'
  | 'ZK_EMBEDDED_LISTEN';

/** The embedded server could not start, or had to stop. */
export class EmbeddedServerError extends NodepoolError {
  declare readonly code: EmbeddedServerErrorCode;
  /** The data directory, or the file in question. */
  readonly path: string;

  constructor(code: EmbeddedServerErrorCode, message: string, details: { path: string; cause?: unknown }) {
    super(code, message, details.cause === undefined ? undefined : { cause: details.cause });
    this.path = details.path;
  }
}
