import { MultiError, ZooKeeperError } from '../../client/contract/errors.js';
import { zooKeeperCode } from '../../client/contract/server-errors.js';
import type { Operation, OperationResult, ReadOperation, ReadResult, Stat } from '../../client/contract/types.js';
import type { Acl } from '../../client/contract/types.js';
import type { MultiResult, NodeStat, ReadResult as ModelReadResult, Reply } from '../model/replies.js';
import type { MultiPart, ReadPart } from '../model/requests.js';

const OPEN: readonly Acl[] = [{ permissions: 31, scheme: 'world', id: 'anyone' }];

/** Create mode of a znode. */
export function createFlags(ephemeral: boolean | undefined, sequential: boolean | undefined): number {
  return (ephemeral === true ? 1 : 0) | (sequential === true ? 2 : 0);
}

/** Bytes to store. */
export function toBody(data: Buffer | string | undefined): Buffer {
  return typeof data === 'string' ? Buffer.from(data, 'utf8') : Buffer.from(data ?? '');
}

/** The default is open to everybody. */
export function toAcl(acl: readonly Acl[] | undefined): readonly Acl[] {
  return acl ?? OPEN;
}

/** A stat as the client's interface has it. */
export function toStat(stat: NodeStat): Stat {
  const { czxid, mzxid, pzxid, ...rest } = stat;
  return { ...rest, czxid: BigInt(czxid), mzxid: BigInt(mzxid), pzxid: BigInt(pzxid) };
}

/** A part of a multi as the model wants it. */
export function toMultiPart(operation: Operation): MultiPart {
  const { op, path } = operation;
  switch (op) {
    case 'create': {
      const { data, ephemeral, sequential, acl } = operation;
      const flags = createFlags(ephemeral, sequential);
      return { op: 'create2', path, data: toBody(data), acl: toAcl(acl), flags };
    }
    case 'delete':
    case 'check':
      return { op, path, version: operation.version ?? -1 };
    case 'set':
      return { op: 'setData', path, data: toBody(operation.data), version: operation.version ?? -1 };
  }
}

/** A part of a multiRead as the model wants it. */
export function toReadPart({ read, path }: ReadOperation): ReadPart {
  return { op: read === 'data' ? 'getData' : 'getChildren', path, watch: false };
}

/** The error for a request the server refused. */
export function replyError(code: number, what: string, path: string): ZooKeeperError {
  const name = zooKeeperCode(code);
  return new ZooKeeperError(name, `${what} ${path}: ${name} (${code})`, { path, serverCode: code });
}

/** Results of a multi. @throws MultiError when it was refused */
export function readMulti(reply: Reply, operations: readonly Operation[]): OperationResult[] {
  const results = (reply.body?.kind === 'multi' ? reply.body.results : []) as MultiResult[];
  const failedIndex = results.findIndex((result) => result.result === 'error' && result.error !== 0);
  const failed = results[failedIndex];
  if (failed?.result === 'error') throw multiError(failed.error, failedIndex, operations);
  return results.map((result, index) => readOperation(result, operations[index]));
}

function readOperation(result: MultiResult, operation: Operation | undefined): OperationResult {
  switch (result.result) {
    case 'create2':
      return { op: 'create', path: result.path, stat: createdStat(toStat(result.stat), operation) };
    case 'setData':
      return { op: 'set', stat: toStat(result.stat) };
    case 'delete':
    case 'check':
      return { op: result.result };
    default:
      throw new Error(`multi: unexpected result ${result.result}`);
  }
}

/** Real servers do not send the stat of a create inside a multi: the client makes it up, see its `decodeMulti`. */
function createdStat(stat: Stat, operation: Operation | undefined): Stat {
  const dataLength = operation?.op === 'create' ? toBody(operation.data).length : 0;
  const { czxid: zxid, ctime, ephemeralOwner } = stat;
  return {
    ...{ czxid: zxid, mzxid: zxid, pzxid: zxid, ctime, mtime: ctime, version: 0, cversion: 0, aversion: 0 },
    ...{ ephemeralOwner, dataLength, numChildren: 0 },
  };
}

function multiError(code: number, failedIndex: number, operations: readonly Operation[]): MultiError {
  const operation = operations[failedIndex];
  const name = zooKeeperCode(code);
  const message = `multi of ${operations.length} refused: ${operation?.op ?? 'part'} of ${operation?.path ?? '?'} (part ${failedIndex}): ${name} (${code})`;
  return new MultiError(name, message, { path: operation?.path, serverCode: code, failedIndex });
}

/** Results of a multiRead. */
export function readMany(
  reply: Reply,
  reads: readonly ReadOperation[],
  arrange: (names: string[]) => string[],
): ReadResult[] {
  const results = (reply.body?.kind === 'multi' ? reply.body.results : []) as ModelReadResult[];
  return results.map((result, index): ReadResult => {
    const path = reads[index]?.path ?? '';
    switch (result.result) {
      case 'getData':
        return { read: 'data', path, data: result.data ?? Buffer.alloc(0), stat: toStat(result.stat) };
      case 'getChildren':
        return { read: 'children', path, children: arrange([...result.children]) };
      case 'error':
        return { read: 'error', path, error: replyError(result.error, 'multiRead', path) };
    }
  });
}
