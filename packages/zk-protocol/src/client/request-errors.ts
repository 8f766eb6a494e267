import { ZooKeeperError } from './contract/errors.js';
import { operationName, ServerCode } from './contract/server-errors.js';
import { stripChroot, type PendingRequest } from './wire/request.js';

function describe(request: PendingRequest): { what: string; path: string } {
  const path = stripChroot(request.chroot, request.path);
  return { what: `${operationName(request.opCode)} ${path}`, path };
}

/** Sent, but the connection broke before the answer. */
export function lossError(request: PendingRequest): ZooKeeperError {
  const { what, path } = describe(request);
  const message = `${what}: the connection broke before the answer; it may or may not have taken effect`;
  return new ZooKeeperError('ZK_CONNECTION_LOSS', message, { path });
}

/** The server refused our credentials. */
export function authError(request: PendingRequest): ZooKeeperError {
  const { what, path } = describe(request);
  return new ZooKeeperError('ZK_AUTH_FAILED', `${what}: ZooKeeper refused our credentials`, {
    path,
    serverCode: ServerCode.AUTH_FAILED,
  });
}

/** Not sent: the session ended first. */
export function expiredError(request: PendingRequest): ZooKeeperError {
  const { what, path } = describe(request);
  const message = `${what}: the session ended before it could be sent; it has not taken effect`;
  return new ZooKeeperError('ZK_SESSION_EXPIRED', message, { path });
}

/** Not sent: no server could be reached in time. */
export function unreachableError(request: PendingRequest): ZooKeeperError {
  const { what, path } = describe(request);
  const message = `${what}: no ZooKeeper server could be reached in time; it has not been sent`;
  return new ZooKeeperError('ZK_CONNECTION_LOSS', message, { path });
}

/** The client is closed. */
export function closedError(request: PendingRequest): ZooKeeperError {
  const { what, path } = describe(request);
  return new ZooKeeperError('ZK_CLOSED', `${what}: the ZooKeeper client is closed`, { path });
}

/** The request itself cannot be sent. */
export function badRequest(request: PendingRequest, why: string, cause?: unknown): ZooKeeperError {
  const { what, path } = describe(request);
  return new ZooKeeperError('ZK_BAD_ARGUMENTS', `${what}: ${why}`, { path, cause });
}
