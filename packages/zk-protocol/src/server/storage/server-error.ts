import { NodepoolError } from '../../base/errors.js';

/**
 * - `ZK_EMBEDDED_LOCKED` another server uses the data directory
 * - `ZK_EMBEDDED_LOST` another server took over the data directory while this process was stopped, or it was removed
 * - `ZK_EMBEDDED_MOVED` the content of the data directory was moved to an ensemble
 * - `ZK_EMBEDDED_CORRUPT` files in the data directory are damaged more than a crash can cause
 * - `ZK_EMBEDDED_IO` the data directory cannot be read or written
 * - `ZK_EMBEDDED_LISTEN` the server cannot listen on the address
 */
export type EmbeddedServerErrorCode =
  | 'ZK_EMBEDDED_LOCKED'
  | 'ZK_EMBEDDED_LOST'
  | 'ZK_EMBEDDED_MOVED'
  | 'ZK_EMBEDDED_CORRUPT'
  | 'ZK_EMBEDDED_IO'
  | 'ZK_EMBEDDED_LISTEN';

/** The embedded server failed to start, or stopped. */
export class EmbeddedServerError extends NodepoolError {
  declare readonly code: EmbeddedServerErrorCode;
  /** The data directory, or the file in question. */
  readonly path: string;

  constructor(code: EmbeddedServerErrorCode, message: string, details: { path: string; cause?: unknown }) {
    super(code, message, details.cause === undefined ? undefined : { cause: details.cause });
    this.path = details.path;
  }
}
