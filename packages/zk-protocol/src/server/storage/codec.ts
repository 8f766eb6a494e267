import type { Acl } from '../../client/contract/types.js';
import { OPEN_ACL } from '../model/acl.js';
import type { Session } from '../model/sessions.js';
import type { Change, Transaction } from '../model/transactions.js';
import { createZnode, type Znode } from '../model/znode.js';
import { writeAcl } from '../wire/acl.js';
import { type JuteReader, MalformedPacketError } from '../wire/jute-reader.js';
import type { JuteWriter } from '../wire/jute-writer.js';

/** Kind of a payload, its first byte. The numbers are part of the file format. */
export const Kind = { transaction: 1, snapshotHeader: 2, sessions: 3, znodes: 4, snapshotEnd: 5 } as const;

const ChangeKind = { create: 1, delete: 2, setData: 3, setAcl: 4, createSession: 5, closeSession: 6 } as const;

/** Number of ACL entries that denotes the open ACL. */
const OPEN_ACL_MARK = -1;

/** Appends a transaction's payload. */
export function encodeTransaction(writer: JuteWriter, { zxid, timeMs, changes }: Transaction): void {
  writer.byte(Kind.transaction);
  writer.long(zxid);
  writer.long(timeMs);
  writer.int(changes.length);
  for (const change of changes) encodeChange(writer, change);
}

/**
 * Decodes a transaction's payload.
 * @throws {MalformedPacketError} the payload is malformed
 */
export function decodeTransaction(reader: JuteReader): Transaction {
  expectKind(reader, Kind.transaction);
  return { zxid: reader.long(), timeMs: reader.long(), changes: reader.vector(() => decodeChange(reader)) };
}

/** Rejects a payload of another kind. */
export function expectKind(reader: JuteReader, kind: number): void {
  const found = reader.byte();
  if (found !== kind) throw new MalformedPacketError(`a record of kind ${kind} was expected, found ${found}`);
}

/** Appends one znode of a snapshot. */
export function encodeZnode(writer: JuteWriter, path: string, node: Znode): void {
  writer.string(path);
  writer.bytes(node.data);
  encodeAcl(writer, node.acl);
  writer.long(node.czxid);
  writer.long(node.mzxid);
  writer.long(node.pzxid);
  writer.long(node.ctime);
  writer.long(node.mtime);
  writer.int(node.version);
  writer.int(node.childrenCreated);
  writer.int(node.aversion);
  writer.bigLong(node.owner);
}

/** Decodes one znode of a snapshot. */
export function decodeZnode(reader: JuteReader): { path: string; node: Znode } {
  const path = reader.string();
  const node = createZnode(reader.bytes(), decodeAcl(reader), 0n, 0, 0);
  node.czxid = reader.long();
  node.mzxid = reader.long();
  node.pzxid = reader.long();
  node.ctime = reader.long();
  node.mtime = reader.long();
  node.version = reader.int();
  node.childrenCreated = reader.int();
  node.aversion = reader.int();
  node.owner = reader.bigLong();
  return { path, node };
}

/** Appends one session of a snapshot. */
export function encodeSession(writer: JuteWriter, { id, timeoutMs, password }: Session): void {
  writer.bigLong(id);
  writer.int(timeoutMs);
  writer.bytes(password);
}

/** Decodes one session of a snapshot; its deadline is set when the table is restarted. */
export function decodeSession(reader: JuteReader): Session {
  return {
    id: reader.bigLong(),
    timeoutMs: reader.int(),
    password: decodePassword(reader),
    expiresAtMs: 0,
    connection: undefined,
  };
}

function encodeChange(writer: JuteWriter, change: Change): void {
  writer.byte(ChangeKind[change.change]);
  switch (change.change) {
    case 'create':
      writer.string(change.path);
      writer.bytes(change.data);
      encodeAcl(writer, change.acl);
      writer.bigLong(change.owner);
      return;
    case 'delete':
      writer.string(change.path);
      return;
    case 'setData':
      writer.string(change.path);
      writer.bytes(change.data);
      writer.int(change.version);
      return;
    case 'setAcl':
      writer.string(change.path);
      encodeAcl(writer, change.acl);
      writer.int(change.version);
      return;
    case 'createSession':
      writer.bigLong(change.sessionId);
      writer.int(change.timeoutMs);
      writer.bytes(change.password);
      return;
    case 'closeSession':
      writer.bigLong(change.sessionId);
      return;
  }
}

function decodeChange(reader: JuteReader): Change {
  const kind = reader.byte();
  switch (kind) {
    case ChangeKind.create:
      return {
        change: 'create',
        path: reader.string(),
        data: reader.bytes(),
        acl: decodeAcl(reader),
        owner: reader.bigLong(),
      };
    case ChangeKind.delete:
      return { change: 'delete', path: reader.string() };
    case ChangeKind.setData:
      return { change: 'setData', path: reader.string(), data: reader.bytes(), version: reader.int() };
    case ChangeKind.setAcl:
      return { change: 'setAcl', path: reader.string(), acl: decodeAcl(reader), version: reader.int() };
    case ChangeKind.createSession:
      return {
        change: 'createSession',
        sessionId: reader.bigLong(),
        timeoutMs: reader.int(),
        password: decodePassword(reader),
      };
    case ChangeKind.closeSession:
      return { change: 'closeSession', sessionId: reader.bigLong() };
    default:
      throw new MalformedPacketError(`unknown kind of change: ${kind}`);
  }
}

function decodePassword(reader: JuteReader): Buffer {
  const password = reader.bytes();
  if (password === null) throw new MalformedPacketError('a session has no password');
  return password;
}

function encodeAcl(writer: JuteWriter, acl: readonly Acl[]): void {
  if (acl === OPEN_ACL) {
    writer.int(OPEN_ACL_MARK);
    return;
  }
  writeAcl(writer, acl);
}

function decodeAcl(reader: JuteReader): readonly Acl[] {
  const count = reader.int();
  if (count === OPEN_ACL_MARK) return OPEN_ACL;
  const acl: Acl[] = [];
  for (let index = 0; index < count; index++) {
    acl.push({ permissions: reader.int(), scheme: reader.string(), id: reader.string() });
  }
  return acl;
}
