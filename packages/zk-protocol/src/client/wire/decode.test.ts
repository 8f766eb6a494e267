import { expect, it } from 'vitest';
import type { MultiResult, NodeStat, ReadResult } from '../../server/model/replies.js';
import { encodeReply } from '../../server/wire/encode-reply.js';
import { JuteWriter } from '../../server/wire/jute-writer.js';
import { MultiError } from '../contract/errors.js';
import type { Operation, ReadOperation } from '../contract/types.js';
import * as decode from './decode.js';
import { OpCode } from './opcodes.js';
import { MalformedFrameError, WireReader } from './reader.js';
import { Request } from './request.js';

const LENGTH_BYTES = 4;
const REPLY_HEADER_BYTES = 16;
const ZXID = 7;
const SESSION = 0x1234n;
const STAT: NodeStat = {
  ...{ czxid: 1, mzxid: 2, ctime: 3, mtime: 2 ** 40, version: 5, cversion: 6, aversion: 7, ephemeralOwner: -8n },
  ...{ dataLength: 9, numChildren: 10, pzxid: 11 },
};

/** A reader at the body of a reply with these results, as the server encodes it. */
function replyWith(results: (MultiResult | ReadResult)[]): WireReader {
  const writer = new JuteWriter();
  encodeReply(writer, 1, { zxid: ZXID, error: 0, body: { kind: 'multi', results } });
  const reader = new WireReader().reset(writer.finish(), LENGTH_BYTES, writer.length);
  reader.offset += REPLY_HEADER_BYTES;
  reader.sessionId = SESSION;
  return reader;
}

function multi(operations: readonly Operation[], results: MultiResult[]) {
  const request = new Request<void>(
    OpCode.MULTI,
    '/c',
    '/c',
    () => {},
    () => undefined,
  );
  request.operations = operations;
  return decode.decodeMulti(replyWith(results), request);
}

const failed = (error: number): MultiResult => ({ result: 'error', error });

it('decodes the results of a multi, without chroot', () => {
  const results = multi(
    [
      { op: 'create', path: '/a' },
      { op: 'set', path: '/a', data: '' },
      { op: 'check', path: '/a' },
      { op: 'delete', path: '/a' },
    ],
    [
      { result: 'create2', path: '/c/a', stat: STAT },
      { result: 'setData', stat: STAT },
      { result: 'check' },
      { result: 'delete' },
    ],
  );

  expect(results).toMatchObject([
    { op: 'create', path: '/a', stat: { czxid: 1n, pzxid: 11n, mtime: 2 ** 40, ephemeralOwner: -8n } },
    { op: 'set', stat: { version: 5, aversion: 7 } },
    { op: 'check' },
    { op: 'delete' },
  ]);
});

it('completes the stat of a create that the server sent without one', () => {
  const [created, , plain] = multi(
    [
      { op: 'create', path: '/a', data: 'öl', ephemeral: true },
      { op: 'set', path: '/b', data: '' },
      { op: 'create', path: '/p' },
    ],
    [
      { result: 'create', path: '/c/a' },
      { result: 'setData', stat: STAT },
      { result: 'create', path: '/c/p' },
    ],
  );

  expect(created).toMatchObject({
    path: '/a',
    stat: { czxid: 7n, mzxid: 7n, ctime: 2 ** 40, mtime: 2 ** 40, ephemeralOwner: SESSION, dataLength: 3 },
  });
  expect(plain).toMatchObject({ path: '/p', stat: { ephemeralOwner: 0n, dataLength: 0 } });
});

it.each([
  [[0, -103, -2], 1, 'ZK_BAD_VERSION'],
  [[-2, -101], 1, 'ZK_NO_NODE'],
  [[0, -2], 1, 'ZK_RUNTIME_INCONSISTENCY'],
])('names the operation that failed in results %j', (codes, failedIndex, code) => {
  const operations = codes.map((_, index): Operation => ({ op: 'delete', path: `/${index}` }));

  expect(() => multi(operations, codes.map(failed))).toThrow(MultiError);
  try {
    multi(operations, codes.map(failed));
  } catch (error) {
    expect(error).toMatchObject({ code, failedIndex, path: `/${failedIndex}` });
  }
});

it('decodes the results of a multiRead with the requested paths', () => {
  const request = new Request<void>(
    OpCode.MULTI_READ,
    '/c/a',
    '/c',
    () => {},
    () => undefined,
  );
  request.reads = ['/a', '/b', '/c'].map((path): ReadOperation => ({ read: 'data', path }));

  const results = decode.decodeMultiRead(
    replyWith([
      { result: 'getData', data: null, stat: STAT },
      { result: 'getChildren', children: ['x', 'y'] },
      { result: 'error', error: -101 },
    ]),
    request,
  );

  expect(results).toMatchObject([
    { read: 'data', path: '/a', data: Buffer.alloc(0), stat: { czxid: 1n } },
    { read: 'children', path: '/b', children: ['x', 'y'] },
    { read: 'error', path: '/c', error: { code: 'ZK_NO_NODE', path: '/c' } },
  ]);
});

it('rejects a result of unknown type', () => {
  const results: ReadResult[] = [{ result: 'getChildren', children: [] }];
  const request = new Request<void>(
    OpCode.MULTI,
    '/a',
    '',
    () => {},
    () => undefined,
  );

  expect(() => decode.decodeMulti(replyWith(results), request)).toThrow(MalformedFrameError);
});
