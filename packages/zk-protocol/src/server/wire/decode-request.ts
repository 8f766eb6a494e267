import type { Acl } from '../../client/contract/types.js';
import type { MultiPart, ReadPart, Request, WatcherType } from '../model/requests.js';
import { ErrorCode, OpCode } from '../model/constants.js';
import { type JuteReader, MalformedPacketError } from './jute-reader.js';

const CONTAINER_FLAG = 4;

const WRITES = new Set<number>([
  OpCode.create,
  OpCode.create2,
  OpCode.createContainer,
  OpCode.createTtl,
  OpCode.delete,
  OpCode.setData,
  OpCode.setAcl,
  OpCode.check,
  OpCode.multi,
  OpCode.reconfig,
]);

/**
 * Decodes the body of a request. A malformed one becomes a `refused` request, so that the error has its place among the
 * replies.
 * @returns `undefined` for an unknown type
 */
export function decodeRequest(type: number, body: JuteReader): Request | undefined {
  try {
    return decode(type, body);
  } catch (error) {
    if (!(error instanceof MalformedPacketError)) throw error;
    return { op: 'refused', error: ErrorCode.marshalling, isWrite: WRITES.has(type) };
  }
}

function decode(type: number, body: JuteReader): Request | undefined {
  switch (type) {
    case OpCode.create:
    case OpCode.create2:
    case OpCode.createContainer:
    case OpCode.createTtl:
    case OpCode.delete:
    case OpCode.setData:
    case OpCode.check:
      return decodeMultiPart(type, body);
    case OpCode.getData:
    case OpCode.getChildren:
      return decodeReadPart(type, body);
    case OpCode.exists:
      return { op: 'exists', path: body.string(), watch: body.bool() };
    case OpCode.getChildren2:
      return { op: 'getChildren2', path: body.string(), watch: body.bool() };
    case OpCode.getAcl:
      return { op: 'getAcl', path: body.string() };
    case OpCode.setAcl:
      return { op: 'setAcl', path: body.string(), acl: decodeAcl(body), version: body.int() };
    case OpCode.sync:
      return { op: 'sync', path: body.string() };
    case OpCode.ping:
      return { op: 'ping' };
    case OpCode.multi:
      return { op: 'multi', parts: decodeParts(body, (type, part) => asInMulti(decodeMultiPart(type, part))) };
    case OpCode.multiRead:
      return { op: 'multiRead', parts: decodeParts(body, withoutWatch) };
    case OpCode.reconfig:
      return { op: 'refused', error: ErrorCode.reconfigDisabled, isWrite: true };
    default:
      return decodeRare(type, body);
  }
}

function decodeRare(type: number, body: JuteReader): Request | undefined {
  switch (type) {
    case OpCode.checkWatches:
      return { op: 'checkWatches', path: body.string(), type: decodeWatcherType(body.int()) };
    case OpCode.removeWatches:
      return { op: 'removeWatches', path: body.string(), type: decodeWatcherType(body.int()) };
    case OpCode.setWatches:
    case OpCode.setWatches2:
      return {
        op: 'setWatches',
        relativeZxid: body.long(),
        data: body.strings(),
        exist: body.strings(),
        child: body.strings(),
        persistent: type === OpCode.setWatches2 ? body.strings() : [],
        persistentRecursive: type === OpCode.setWatches2 ? body.strings() : [],
      };
    case OpCode.addWatch:
      return { op: 'addWatch', path: body.string(), mode: decodeWatchMode(body.int()) };
    case OpCode.getEphemerals:
      return { op: 'getEphemerals', prefix: body.stringOrNull() ?? '' };
    case OpCode.getAllChildrenNumber:
      return { op: 'getAllChildrenNumber', path: body.string() };
    case OpCode.whoAmI:
      return { op: 'whoAmI' };
    case OpCode.closeSession:
      return { op: 'closeSession' };
    default:
      return undefined;
  }
}

function decodeMultiPart(type: number, body: JuteReader): MultiPart {
  switch (type) {
    case OpCode.create:
      return { op: 'create', ...decodeCreate(body) };
    case OpCode.create2:
      return { op: 'create2', ...decodeCreate(body) };
    case OpCode.createContainer:
      return { op: 'createContainer', ...decodeCreate(body) };
    case OpCode.createTtl:
      return { op: 'createTtl', ...decodeCreate(body), ttlMs: body.long() };
    case OpCode.delete:
      return { op: 'delete', path: body.string(), version: body.int() };
    case OpCode.setData:
      return { op: 'setData', path: body.string(), data: body.bytes(), version: body.int() };
    case OpCode.check:
      return { op: 'check', path: body.string(), version: body.int() };
    default:
      throw new MalformedPacketError(`operation ${type} cannot be part of a multi`);
  }
}

/**
 * In a multi, ZooKeeper 3.8 treats all creates by their flags, whatever the operation: the result of a create2 has no stat.
 */
function asInMulti(part: MultiPart): MultiPart {
  if (part.op !== 'create2' && part.op !== 'create' && part.op !== 'createContainer') return part;
  return { ...part, op: part.flags === CONTAINER_FLAG ? 'createContainer' : 'create' };
}

function decodeReadPart(type: number, body: JuteReader): ReadPart {
  if (type === OpCode.getData) return { op: 'getData', path: body.string(), watch: body.bool() };
  if (type === OpCode.getChildren) return { op: 'getChildren', path: body.string(), watch: body.bool() };
  throw new MalformedPacketError(`operation ${type} cannot be part of a multiRead`);
}

/** In a multiRead, ZooKeeper 3.8 ignores watches. */
function withoutWatch(type: number, body: JuteReader): ReadPart {
  return { ...decodeReadPart(type, body), watch: false };
}

/** Decodes header and body of each operation, up to the final header. */
function decodeParts<T>(body: JuteReader, decodePart: (type: number, body: JuteReader) => T): T[] {
  const parts: T[] = [];
  for (;;) {
    const type = body.int();
    const isDone = body.bool();
    body.int();
    if (isDone) return parts;
    parts.push(decodePart(type, body));
  }
}

function decodeCreate(body: JuteReader): { path: string; data: Buffer | null; acl: Acl[]; flags: number } {
  return { path: body.string(), data: body.bytes(), acl: decodeAcl(body), flags: body.int() };
}

function decodeAcl(body: JuteReader): Acl[] {
  return body.vector(() => ({
    permissions: body.int(),
    // A missing scheme or id is rejected later, as an empty one is.
    scheme: body.stringOrNull() ?? '',
    id: body.stringOrNull() ?? '',
  }));
}

function decodeWatchMode(mode: number): 'persistent' | 'persistent-recursive' {
  if (mode === 0) return 'persistent';
  if (mode === 1) return 'persistent-recursive';
  throw new MalformedPacketError(`unknown watch mode: ${mode}`);
}

function decodeWatcherType(type: number): WatcherType {
  if (type === 1) return 'children';
  if (type === 2) return 'data';
  if (type === 3) return 'any';
  throw new MalformedPacketError(`unknown watcher type: ${type}`);
}
