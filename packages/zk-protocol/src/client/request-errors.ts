import { ZooKeeperError } from './contract/errors.js';
import { operationName, ServerCode } from './contract/server-errors.js';
import { stripChroot, type PendingRequest } from './wire/request.js';

function describe(request: PendingRequest): { what: string; path: string } {
  const path = stripChroot(request.chroot, request.path);
  return { what: `${operationName(request.opCode)} ${path}`, path };
}

/** The connection broke before the reply. */
export function lossError(request: PendingRequest): ZooKeeperError {
  const { what, path } = describe(request);
  const message = `${what}: the connection broke before the reply; the request may or may not have taken effect`;
  return new ZooKeeperError('ZK_CONNECTION_LOSS', message, { path });
}

/** The server rejected our credentials. */
export function authError(request: PendingRequest): ZooKeeperError {
  const { what, path } = describe(request);
  return new ZooKeeperError('ZK_AUTH_FAILED', `${what}: ZooKeeper rejected our credentials`, {
    path,
    serverCode: ServerCode.AUTH_FAILED,
  });
}

/** The session ended before the request was sent. */
export function expiredError(request: PendingRequest): ZooKeeperError {
  const { what, path } = describe(request);
  const message = `${what}: the session ended before the request was sent; it did not take effect`;
  return new ZooKeeperError('ZK_SESSION_EXPIRED', message, { path });
}

/** No server was reached in time. */
export function unreachableError(request: PendingRequest): ZooKeeperError {
  const { what, path } = describe(request);
  const message = `${what}: no ZooKeeper server was reached in time; the request was not sent`;
  return new ZooKeeperError('ZK_CONNECTION_LOSS', message, { path });
}

/** The client is closed. */
export function closedError(request: PendingRequest): ZooKeeperError {
  const { what, path } = describe(request);
  return new ZooKeeperError('ZK_CLOSED', `${what}: the ZooKeeper client is closed`, { path });
}

/** The request is invalid. */
export function badRequest(request: PendingRequest, why: string, cause?: unknown): ZooKeeperError {
  const { what, path } = describe(request);
  return new ZooKeeperError('ZK_BAD_ARGUMENTS', `${what}: ${why}`, { path, cause });
}
