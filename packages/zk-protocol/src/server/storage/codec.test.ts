import { expect, it } from 'vitest';
import { OPEN_ACL } from '../model/acl.js';
import type { Change } from '../model/transactions.js';
import { createZnode } from '../model/znode.js';
import { JuteReader, MalformedPacketError } from '../wire/jute-reader.js';
import { JuteWriter } from '../wire/jute-writer.js';
import * as codec from './codec.js';

const ACL = [{ permissions: 5, scheme: 'digest', id: 'ann:x' }];

function readBack<T>(write: (writer: JuteWriter) => void, read: (reader: JuteReader) => T): T {
  const writer = new JuteWriter();
  write(writer);
  const reader = new JuteReader(writer.finish());
  const result = read(reader);
  expect(reader.remaining).toBe(0);
  return result;
}

it('reads back a transaction with every kind of change', () => {
  const changes: Change[] = [
    { change: 'createSession', sessionId: -5n, timeoutMs: 1000, password: Buffer.alloc(16, 7) },
    { change: 'create', path: '/a', data: null, acl: OPEN_ACL, owner: -(2n ** 63n) },
    { change: 'create', path: '/ö', data: Buffer.alloc(0), acl: ACL, owner: 7n },
    { change: 'setData', path: '/a', data: Buffer.from('x'), version: 3 },
    { change: 'setAcl', path: '/a', acl: ACL, version: 1 },
    { change: 'delete', path: '/a' },
    { change: 'closeSession', sessionId: -5n },
  ];
  const transaction = { zxid: 2 ** 40, timeMs: 1_700_000_000_000, changes };

  const found = readBack((writer) => codec.encodeTransaction(writer, transaction), codec.decodeTransaction);

  expect(found).toEqual(transaction);
});

it('reads back a znode, and shares the open ACL', () => {
  const node = {
    ...createZnode(Buffer.from('x'), OPEN_ACL, 7n, 3, 1000),
    version: 4,
    childrenCreated: 9,
    aversion: -1,
  };

  const found = readBack((writer) => codec.encodeZnode(writer, '/a', node), codec.decodeZnode);

  expect(found).toEqual({ path: '/a', node });
  expect(found.node.acl).toBe(OPEN_ACL);
});

it('reads back a session without connection and remaining time', () => {
  const session = { id: 5n, timeoutMs: 1000, password: Buffer.alloc(16, 1), expiresAtMs: 99, connection: undefined };

  const found = readBack((writer) => codec.encodeSession(writer, session), codec.decodeSession);

  expect(found).toEqual({ ...session, expiresAtMs: 0 });
});

it.each<[string, (writer: JuteWriter) => void, string]>([
  [
    'a record of another kind',
    (writer) => writer.byte(codec.Kind.sessions),
    'a record of kind 1 was expected, found 3',
  ],
  [
    'an unknown kind of change',
    (writer) => {
      writer.byte(codec.Kind.transaction);
      writer.long(1);
      writer.long(1);
      writer.int(1);
      writer.byte(99);
    },
    'unknown kind of change: 99',
  ],
])('rejects %s', (_what, write, message) => {
  expect(() => readBack(write, codec.decodeTransaction)).toThrow(new MalformedPacketError(message));
});
