import { NodepoolError } from '../../base/errors.js';

/** Stable error codes; any other error number of a server becomes `ZK_SERVER_ERROR`. */
export type ZooKeeperErrorCode =
  | 'ZK_NO_NODE'
  | 'ZK_NODE_EXISTS'
  | 'ZK_BAD_VERSION'
  | 'ZK_NOT_EMPTY'
  | 'ZK_NO_AUTH'
  | 'ZK_AUTH_FAILED'
  | 'ZK_INVALID_ACL'
  | 'ZK_NO_CHILDREN_FOR_EPHEMERALS'
  | 'ZK_CONNECTION_LOSS'
  | 'ZK_SESSION_EXPIRED'
  | 'ZK_SESSION_MOVED'
  | 'ZK_CLOSED'
  | 'ZK_BACKLOG_FULL'
  | 'ZK_BAD_ARGUMENTS'
  | 'ZK_MARSHALLING'
  | 'ZK_RUNTIME_INCONSISTENCY'
  | 'ZK_NO_WATCHER'
  | 'ZK_SERVER_ERROR';

/** A ZooKeeper call failed. */
export class ZooKeeperError extends NodepoolError {
  declare readonly code: ZooKeeperErrorCode;
  /** Path of the call, without chroot. */
  readonly path: string | undefined;
  /** The server's error number, e.g. -101; `undefined` for errors of the client. */
  readonly serverCode: number | undefined;

  constructor(
    code: ZooKeeperErrorCode,
    message: string,
    details: { path?: string | undefined; serverCode?: number | undefined; cause?: unknown } = {},
  ) {
    super(code, message, details.cause === undefined ? undefined : { cause: details.cause });
    this.path = details.path;
    this.serverCode = details.serverCode;
  }
}

/** A multi was rejected as a whole; `code` and `path` are those of the failed operation. */
export class MultiError extends ZooKeeperError {
  /** Index of the failed operation. */
  readonly failedIndex: number;

  constructor(
    code: ZooKeeperErrorCode,
    message: string,
    details: { path?: string | undefined; serverCode?: number | undefined; failedIndex: number },
  ) {
    super(code, message, details);
    this.failedIndex = details.failedIndex;
  }
}

/** Whether an error is a {@link ZooKeeperError}, optionally with one of the given codes. */
export function isZooKeeperError(error: unknown, ...codes: ZooKeeperErrorCode[]): error is ZooKeeperError {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return false;
  return codes.length === 0 ? error.code.startsWith('ZK_') : codes.includes(error.code as ZooKeeperErrorCode);
}
