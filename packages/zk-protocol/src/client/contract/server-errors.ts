import stock from 'node-zookeeper-client';
import { ZooKeeperError, type ZooKeeperErrorCode } from './errors.js';

const { Exception } = stock;

/** Error numbers of ZooKeeper servers: those of the package, and two that it lacks. */
export const ServerCode = {
  RUNTIME_INCONSISTENCY: Exception.RUNTIME_INCONSISTENCY,
  MARSHALLING_ERROR: Exception.MARSHALLING_ERROR,
  BAD_ARGUMENTS: Exception.BAD_ARGUMENTS,
  CONNECTION_LOSS: Exception.CONNECTION_LOSS,
  NO_NODE: Exception.NO_NODE,
  NO_AUTH: Exception.NO_AUTH,
  BAD_VERSION: Exception.BAD_VERSION,
  NO_CHILDREN_FOR_EPHEMERALS: Exception.NO_CHILDREN_FOR_EPHEMERALS,
  NODE_EXISTS: Exception.NODE_EXISTS,
  NOT_EMPTY: Exception.NOT_EMPTY,
  SESSION_EXPIRED: Exception.SESSION_EXPIRED,
  INVALID_ACL: Exception.INVALID_ACL,
  AUTH_FAILED: Exception.AUTH_FAILED,
  SESSION_MOVED: -118,
  NO_WATCHER: -121,
} as const;

const CODES = new Map<number, ZooKeeperErrorCode>([
  [ServerCode.RUNTIME_INCONSISTENCY, 'ZK_RUNTIME_INCONSISTENCY'],
  [ServerCode.MARSHALLING_ERROR, 'ZK_MARSHALLING'],
  [ServerCode.BAD_ARGUMENTS, 'ZK_BAD_ARGUMENTS'],
  [ServerCode.CONNECTION_LOSS, 'ZK_CONNECTION_LOSS'],
  [ServerCode.NO_NODE, 'ZK_NO_NODE'],
  [ServerCode.NO_AUTH, 'ZK_NO_AUTH'],
  [ServerCode.BAD_VERSION, 'ZK_BAD_VERSION'],
  [ServerCode.NO_CHILDREN_FOR_EPHEMERALS, 'ZK_NO_CHILDREN_FOR_EPHEMERALS'],
  [ServerCode.NODE_EXISTS, 'ZK_NODE_EXISTS'],
  [ServerCode.NOT_EMPTY, 'ZK_NOT_EMPTY'],
  [ServerCode.SESSION_EXPIRED, 'ZK_SESSION_EXPIRED'],
  [ServerCode.INVALID_ACL, 'ZK_INVALID_ACL'],
  [ServerCode.AUTH_FAILED, 'ZK_AUTH_FAILED'],
  [ServerCode.SESSION_MOVED, 'ZK_SESSION_MOVED'],
  [ServerCode.NO_WATCHER, 'ZK_NO_WATCHER'],
]);

const OPERATIONS = new Map<number, string>([
  [1, 'create'],
  [2, 'delete'],
  [3, 'exists'],
  [4, 'getData'],
  [5, 'setData'],
  [6, 'getAcl'],
  [7, 'setAcl'],
  [8, 'getChildren'],
  [9, 'sync'],
  [12, 'getChildren'],
  [14, 'multi'],
  [15, 'create'],
  [18, 'removeWatch'],
  [19, 'create'],
  [21, 'create'],
  [22, 'multiRead'],
  [106, 'addWatch'],
]);

/** Error code for a server's error number; unknown numbers become `ZK_SERVER_ERROR`. */
export function zooKeeperCode(serverCode: number): ZooKeeperErrorCode {
  return CODES.get(serverCode) ?? 'ZK_SERVER_ERROR';
}

/** The error of a request that the server rejected. */
export function serverError(serverCode: number, path: string, opCode: number): ZooKeeperError {
  const code = zooKeeperCode(serverCode);
  return new ZooKeeperError(code, `${operationName(opCode)} ${path}: ${code} (${serverCode})`, { path, serverCode });
}

/** Name of a request type for messages. */
export function operationName(opCode: number): string {
  return OPERATIONS.get(opCode) ?? 'request';
}
