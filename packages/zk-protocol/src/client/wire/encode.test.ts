import { expect, it } from 'vitest';
import type { Request as ServerRequest } from '../../server/model/requests.js';
import { decodeRequest } from '../../server/wire/decode-request.js';
import { JuteReader } from '../../server/wire/jute-reader.js';
import * as encode from './encode.js';
import { CreateFlag, OpCode } from './opcodes.js';
import { Request, type Encoder } from './request.js';
import { WireWriter } from './writer.js';

const ACL = [{ permissions: 31, scheme: 'world', id: 'anyone' }];
const PATH = '/chroot/a';

/** Encodes a request as the client does and decodes it as the server does. */
function decoded(opCode: number, encoder: Encoder, fields: Partial<Request<void>> = {}): ServerRequest | undefined {
  const request = Object.assign(new Request<void>(opCode, PATH, '/chroot', encoder, () => undefined), fields);
  const writer = new WireWriter();
  encoder(writer, request);
  const reader = new JuteReader(writer.take());
  const result = decodeRequest(opCode, reader);
  expect(reader.remaining).toBe(0);
  return result;
}

const create = { path: PATH, data: Buffer.from('x'), acl: ACL };

it.each<[string, number, Encoder, Partial<Request<void>>, ServerRequest]>([
  [
    'create',
    OpCode.CREATE,
    encode.encodeCreate,
    { data: 'x', acl: ACL, flags: 3 },
    { op: 'create', ...create, flags: 3 },
  ],
  [
    'create with a time to live',
    OpCode.CREATE_TTL,
    encode.encodeCreateTtl,
    { data: 'x', acl: ACL, flags: 5, ttlMs: 2 ** 33 },
    { op: 'createTtl', ...create, flags: 5, ttlMs: 2 ** 33 },
  ],
  ['delete', OpCode.DELETE, encode.encodePathAndVersion, { version: 4 }, { op: 'delete', path: PATH, version: 4 }],
  ['exists', OpCode.EXISTS, encode.encodeRead, { watchKind: 'exists' }, { op: 'exists', path: PATH, watch: true }],
  ['getData', OpCode.GET_DATA, encode.encodeRead, {}, { op: 'getData', path: PATH, watch: false }],
  [
    'setData',
    OpCode.SET_DATA,
    encode.encodeSetData,
    { data: Buffer.from('y'), version: 0 },
    { op: 'setData', path: PATH, data: Buffer.from('y'), version: 0 },
  ],
  ['setAcl', OpCode.SET_ACL, encode.encodeSetAcl, { acl: ACL }, { op: 'setAcl', path: PATH, acl: ACL, version: -1 }],
  [
    'addWatch',
    OpCode.ADD_WATCH,
    encode.encodeAddWatch,
    { flags: encode.watchModeNumber('persistent-recursive') },
    { op: 'addWatch', path: PATH, mode: 'persistent-recursive' },
  ],
  [
    'removeWatches',
    OpCode.REMOVE_WATCHES,
    encode.encodeRemoveWatches,
    {},
    { op: 'removeWatches', path: PATH, type: 'any' },
  ],
  ['closeSession', OpCode.CLOSE_SESSION, encode.encodeNothing, {}, { op: 'closeSession' }],
])('encodes %s as the server expects it', (_name, opCode, encoder, fields, expected) => {
  expect(decoded(opCode, encoder, fields)).toEqual(expected);
});

it('encodes a multi with the chroot in each path and the default ACL in creates', () => {
  const own = [{ permissions: 1, scheme: 'world', id: 'anyone' }];

  const request = decoded(OpCode.MULTI, encode.encodeMulti, {
    acl: ACL,
    operations: [
      { op: 'check', path: '/', version: 3 },
      { op: 'create', path: '/b', ephemeral: true, sequential: true },
      { op: 'create', path: '/c', data: 'x', acl: own },
      { op: 'set', path: '/d', data: 'y' },
      { op: 'delete', path: '/e' },
    ],
  });

  expect(request).toEqual({
    op: 'multi',
    parts: [
      { op: 'check', path: '/chroot', version: 3 },
      { op: 'create', path: '/chroot/b', data: Buffer.alloc(0), acl: ACL, flags: 3 },
      { op: 'create', path: '/chroot/c', data: Buffer.from('x'), acl: own, flags: 0 },
      { op: 'setData', path: '/chroot/d', data: Buffer.from('y'), version: -1 },
      { op: 'delete', path: '/chroot/e', version: -1 },
    ],
  });
});

it('encodes the reads of a multiRead', () => {
  const reads = [
    { read: 'data', path: '/a' },
    { read: 'children', path: '/' },
  ] as const;

  expect(decoded(OpCode.MULTI_READ, encode.encodeMultiRead, { reads })).toEqual({
    op: 'multiRead',
    parts: [
      { op: 'getData', path: '/chroot/a', watch: false },
      { op: 'getChildren', path: '/chroot', watch: false },
    ],
  });
});

it('encodes all kinds of watches after a reconnect', () => {
  const writer = new WireWriter();
  const paths = { data: ['/d'], exists: ['/e'], children: ['/c'], persistent: ['/p'], recursive: ['/r'] };

  encode.writeSetWatches(writer, 7n, paths);

  const HEADER_BYTES = 12; // length, request number, type
  expect(decodeRequest(OpCode.SET_WATCHES2, new JuteReader(writer.take(), HEADER_BYTES))).toEqual({
    ...{ op: 'setWatches', relativeZxid: 7, data: ['/d'], exist: ['/e'], child: ['/c'] },
    ...{ persistent: ['/p'], persistentRecursive: ['/r'] },
  });
});

it('has the create flags of the protocol', () => {
  expect(encode.createFlags(true, true)).toBe(CreateFlag.EPHEMERAL + CreateFlag.SEQUENTIAL);
  expect(encode.createFlags(undefined, false)).toBe(0);
});
