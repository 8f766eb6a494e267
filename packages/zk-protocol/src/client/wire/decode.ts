import { systemClock } from '../../base/clock.js';
import { MultiError } from '../contract/errors.js';
import { ServerCode, serverError, zooKeeperCode } from '../contract/server-errors.js';
import type { Acl, Operation, OperationResult, ReadResult, Stat } from '../contract/types.js';
import { OpCode } from './opcodes.js';
import { MalformedFrameError, type WireReader } from './reader.js';
import { stripChroot, type Decoder, type RequestFields } from './request.js';

export const decodeNothing: Decoder<void> = () => undefined;

export const decodePath: Decoder<string> = (reader, request) => stripChroot(request.chroot, reader.string());

export const decodePathAndStat: Decoder<{ path: string; stat: Stat }> = (reader, request) => ({
  path: stripChroot(request.chroot, reader.string()),
  stat: reader.stat(),
});

export const decodeStat: Decoder<Stat> = (reader) => reader.stat();

export const decodeOptionalStat: Decoder<Stat | undefined> = (reader) => reader.stat();

export const decodeData: Decoder<{ data: Buffer; stat: Stat }> = (reader) => ({
  data: reader.data(),
  stat: reader.stat(),
});

export const decodeChildren: Decoder<string[]> = (reader) => reader.strings();

export const decodeChildrenAndStat: Decoder<{ children: string[]; stat: Stat }> = (reader) => ({
  children: reader.strings(),
  stat: reader.stat(),
});

export const decodeAcl: Decoder<{ acl: Acl[]; stat: Stat }> = (reader) => ({
  acl: reader.acls(),
  stat: reader.stat(),
});

function decodeOperation(reader: WireReader, type: number, request: RequestFields, index: number): OperationResult {
  switch (type) {
    case OpCode.CREATE: {
      const path = stripChroot(request.chroot, reader.string());
      return { op: 'create', path, stat: newNodeStat(reader, request.operations[index]) };
    }
    case OpCode.CREATE2:
      return { op: 'create', path: stripChroot(request.chroot, reader.string()), stat: reader.stat() };
    case OpCode.SET_DATA:
      return { op: 'set', stat: reader.stat() };
    case OpCode.DELETE:
      return { op: 'delete' };
    case OpCode.CHECK:
      return { op: 'check' };
    default:
      throw new MalformedFrameError(`multi: unknown result type ${type}`);
  }
}

/**
 * Servers up to 3.8 reply to a create2 in a multi without the stat. The stat of a new znode is known except for its times;
 * see {@link decodeMulti}.
 */
function newNodeStat(reader: WireReader, operation: Operation | undefined): Stat {
  const zxid = reader.headerZxid;
  const isCreate = operation?.op === 'create';
  const data = isCreate ? (operation.data ?? '') : '';
  return {
    czxid: zxid,
    mzxid: zxid,
    pzxid: zxid,
    ctime: 0,
    mtime: 0,
    version: 0,
    cversion: 0,
    aversion: 0,
    ephemeralOwner: isCreate && operation.ephemeral === true ? reader.sessionId : 0n,
    dataLength: typeof data === 'string' ? Buffer.byteLength(data) : data.length,
    numChildren: 0,
  };
}

/** Results of a multi. @throws MultiError if it was rejected */
export const decodeMulti: Decoder<OperationResult[]> = (reader, request) => {
  const results: OperationResult[] = [];
  let failedIndex = -1;
  let failedCode = 0;
  for (let index = 0; ; index += 1) {
    const type = reader.resultType();
    if (type === undefined) break;
    if (type !== OpCode.ERROR) {
      results.push(decodeOperation(reader, type, request, index));
      continue;
    }
    // Operations before the failed one report 0, those after it -2. A lone -2 still means that the multi was rejected.
    const code = reader.int();
    if (code === 0 || (failedCode !== 0 && failedCode !== ServerCode.RUNTIME_INCONSISTENCY)) continue;
    if (failedCode === 0 || code !== ServerCode.RUNTIME_INCONSISTENCY) {
      failedIndex = index;
      failedCode = code;
    }
  }
  if (failedIndex >= 0) throw multiError(request, failedIndex, failedCode);
  fillCreationTime(results);
  return results;
};

/** Sets missing creation times: the time of a `set` in the same multi, which is the same, or this machine's. */
function fillCreationTime(results: readonly OperationResult[]): void {
  const set = results.find((result) => result.op === 'set');
  let timeMs = set?.stat.mtime ?? 0;
  for (const result of results) {
    if (result.op !== 'create' || result.stat.ctime !== 0) continue;
    if (timeMs === 0) timeMs = systemClock.now();
    result.stat.ctime = timeMs;
    result.stat.mtime = timeMs;
  }
}

function multiError(request: RequestFields, failedIndex: number, serverCode: number): MultiError {
  const operation = request.operations[failedIndex];
  const path = operation?.path;
  const code = zooKeeperCode(serverCode);
  const what = operation === undefined ? 'operation' : operation.op;
  return new MultiError(
    code,
    `multi of ${request.operations.length} rejected: ${what} of ${path ?? '?'} (operation ${failedIndex}): ${code} (${serverCode})`,
    { path, serverCode, failedIndex },
  );
}

export const decodeMultiRead: Decoder<ReadResult[]> = (reader, request) => {
  const results: ReadResult[] = [];
  for (let index = 0; ; index += 1) {
    const type = reader.resultType();
    if (type === undefined) return results;
    const path = request.reads[index]?.path ?? '';
    if (type === OpCode.GET_DATA) results.push({ read: 'data', path, data: reader.data(), stat: reader.stat() });
    else if (type === OpCode.GET_CHILDREN) results.push({ read: 'children', path, children: reader.strings() });
    else if (type === OpCode.ERROR) results.push({ read: 'error', path, error: serverError(reader.int(), path, type) });
    else throw new MalformedFrameError(`multiRead: unknown result type ${type}`);
  }
};
