import { ErrorCode } from './constants.js';
import { isAllowed, Permission, storedAcl } from './acl.js';
import type { ModelConnection } from './connection.js';
import { type DataTree, isSpecialPath, type TreeChange } from './data-tree.js';
import { MAX_EPHEMERAL_PATHS } from './limits.js';
import { CONTAINER_OWNER, isEphemeral, ttlOwner } from './owners.js';
import { hasParent, isValidPath, parentOf } from './paths.js';
import type { CreateRequest, MultiPart, Request } from './requests.js';

/** A request that may write, or is checked like a write. */
export type WriteRequest = MultiPart | Extract<Request, { op: 'setAcl' }>;

/** The planned change, `undefined` if there is none, or the error number of the reply. */
export type Plan = TreeChange | undefined | number;

const EPHEMERAL_FLAGS = new Set([1, 3]);
const SEQUENTIAL_FLAGS = new Set([2, 3, 6]);
const TTL_FLAGS = new Set([5, 6]);
const MAX_CREATE_FLAG = 6;

/** Checks a write in the same order as ZooKeeper, and plans its change. */
export function planWrite(tree: DataTree, request: WriteRequest, connection: ModelConnection): Plan {
  switch (request.op) {
    case 'create':
    case 'create2':
    case 'createContainer':
    case 'createTtl':
      return planCreate(tree, request, connection);
    case 'delete':
      return planDelete(tree, request.path, request.version, connection);
    case 'setData': {
      const version = checked(tree, request, connection, Permission.write);
      if (version < 0) return version;
      return { change: 'setData', path: request.path, data: request.data, version };
    }
    case 'check': {
      const version = checked(tree, request, connection, Permission.read);
      return version < 0 ? version : undefined;
    }
    case 'setAcl':
      return planSetAcl(tree, request, connection);
  }
}

function planCreate(tree: DataTree, request: CreateRequest, connection: ModelConnection): Plan {
  const owner = ownerFor(request, connection);
  if (owner === undefined || !hasParent(request.path)) return ErrorCode.badArguments;
  const acl = storedAcl(request.acl, connection.auth);
  if (acl === undefined) return ErrorCode.invalidAcl;
  const parent = tree.get(parentOf(request.path));
  if (parent === undefined) return ErrorCode.noNode;
  if (!isAllowed(parent.acl, Permission.create, connection.auth)) return ErrorCode.noAuth;

  const path = SEQUENTIAL_FLAGS.has(request.flags)
    ? request.path + sequenceSuffix(parent.childrenCreated)
    : request.path;
  if (!isValidPath(path)) return ErrorCode.badArguments;
  if (tree.get(path) !== undefined) return ErrorCode.nodeExists;
  if (isEphemeral(parent.owner)) return ErrorCode.noChildrenForEphemerals;
  if (isEphemeral(owner) && tree.ephemeralLengthOf(owner) + path.length > MAX_EPHEMERAL_PATHS) {
    return ErrorCode.quotaExceeded;
  }
  return { change: 'create', path, data: request.data, acl, owner };
}

/** `ephemeralOwner` of a new znode; `undefined` for invalid flags or TTL. The operation takes precedence over flags. */
function ownerFor({ op, flags, ttlMs = -1 }: CreateRequest, connection: ModelConnection): bigint | undefined {
  if (flags < 0 || flags > MAX_CREATE_FLAG) return undefined;
  if (op === 'createTtl') return TTL_FLAGS.has(flags) ? ttlOwner(ttlMs) : undefined;
  if (TTL_FLAGS.has(flags)) return undefined;
  if (op === 'createContainer') return CONTAINER_OWNER;
  return EPHEMERAL_FLAGS.has(flags) ? connection.sessionId : 0n;
}

function sequenceSuffix(sequence: number): string {
  // Java's %010d: the sign counts as one of the ten characters.
  return sequence < 0 ? `-${String(-sequence).padStart(9, '0')}` : String(sequence).padStart(10, '0');
}

function planDelete(tree: DataTree, path: string, version: number, connection: ModelConnection): Plan {
  if (!hasParent(path) || isSpecialPath(path)) return ErrorCode.badArguments;
  const parent = tree.get(parentOf(path));
  if (parent === undefined) return ErrorCode.noNode;
  if (!isAllowed(parent.acl, Permission.delete, connection.auth)) return ErrorCode.noAuth;
  const node = tree.get(path);
  if (node === undefined) return ErrorCode.noNode;
  if (version !== -1 && version !== node.version) return ErrorCode.badVersion;
  if ((node.children?.size ?? 0) > 0) return ErrorCode.notEmpty;
  return { change: 'delete', path };
}

function planSetAcl(tree: DataTree, request: Extract<Request, { op: 'setAcl' }>, connection: ModelConnection): Plan {
  const { path } = request;
  if (!isValidPath(path)) return ErrorCode.badArguments;
  const acl = storedAcl(request.acl, connection.auth);
  if (acl === undefined) return ErrorCode.invalidAcl;
  const node = tree.get(path);
  if (node === undefined) return ErrorCode.noNode;
  if (!isAllowed(node.acl, Permission.admin, connection.auth)) return ErrorCode.noAuth;
  if (request.version !== -1 && request.version !== node.aversion) return ErrorCode.badVersion;
  return { change: 'setAcl', path, acl, version: node.aversion + 1 };
}

/** The next data version of a znode, or an error number. */
function checked(
  tree: DataTree,
  { path, version }: { path: string; version: number },
  connection: ModelConnection,
  permission: number,
): number {
  if (!isValidPath(path)) return ErrorCode.badArguments;
  const node = tree.get(path);
  if (node === undefined) return ErrorCode.noNode;
  if (!isAllowed(node.acl, permission, connection.auth)) return ErrorCode.noAuth;
  if (version !== -1 && version !== node.version) return ErrorCode.badVersion;
  return node.version + 1;
}
