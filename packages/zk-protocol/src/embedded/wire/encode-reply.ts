import type { MultiResult, NodeStat, Notification, ReadResult, Reply, ReplyBody } from '../model/replies.js';
import { EVENT_STATE_CONNECTED, OpCode, Xid } from './constants.js';
import type { JuteWriter } from './jute-writer.js';

/** Appends a reply as a packet. */
export function encodeReply(writer: JuteWriter, xid: number, reply: Reply): void {
  const start = beginPacket(writer, xid, reply.zxid, reply.error);
  if (reply.body !== undefined) encodeBody(writer, reply.body);
  endPacket(writer, start);
}

/** Appends a watch event as a packet. */
export function encodeEvent(writer: JuteWriter, { type, path }: Notification): void {
  const start = beginPacket(writer, Xid.event, -1, 0);
  writer.int(type);
  writer.int(EVENT_STATE_CONNECTED);
  writer.string(path);
  endPacket(writer, start);
}

/** Appends the answer to a ConnectRequest; a timeout of 0 means "no such session". */
export function encodeConnectResponse(
  writer: JuteWriter,
  session: { timeoutMs: number; id: bigint; password: Buffer },
  withReadOnly: boolean,
): void {
  const start = writer.placeholder();
  writer.int(0);
  writer.int(session.timeoutMs);
  writer.bigLong(session.id);
  writer.bytes(session.password);
  if (withReadOnly) writer.bool(false);
  endPacket(writer, start);
}

function beginPacket(writer: JuteWriter, xid: number, zxid: number, error: number): number {
  const start = writer.placeholder();
  writer.int(xid);
  writer.long(zxid);
  writer.int(error);
  return start;
}

function endPacket(writer: JuteWriter, start: number): void {
  writer.patchInt(start, writer.length - start - 4);
}

function encodeBody(writer: JuteWriter, body: ReplyBody): void {
  switch (body.kind) {
    case 'path':
      return writer.string(body.path);
    case 'path-stat':
      writer.string(body.path);
      return encodeStat(writer, body.stat);
    case 'stat':
      return encodeStat(writer, body.stat);
    case 'data':
      writer.bytes(body.data);
      return encodeStat(writer, body.stat);
    case 'acl':
      writer.int(body.acl.length);
      for (const { permissions, scheme, id } of body.acl) {
        writer.int(permissions);
        writer.string(scheme);
        writer.string(id);
      }
      return encodeStat(writer, body.stat);
    case 'strings':
      return writer.strings(body.strings, body.strings.length);
    case 'strings-stat':
      writer.strings(body.strings, body.strings.length);
      return encodeStat(writer, body.stat);
    case 'multi':
      for (const result of body.results) encodeMultiResult(writer, result);
      return encodeMultiHeader(writer, OpCode.error, true, -1);
    case 'count':
      return writer.int(body.count);
    case 'clients':
      writer.int(body.clients.length);
      for (const { scheme, user } of body.clients) {
        writer.string(scheme);
        writer.string(user);
      }
  }
}

function encodeMultiResult(writer: JuteWriter, result: MultiResult | ReadResult): void {
  if (result.result === 'error') {
    encodeMultiHeader(writer, OpCode.error, false, result.error);
    return writer.int(result.error);
  }
  encodeMultiHeader(writer, OpCode[result.result], false, 0);
  switch (result.result) {
    case 'create':
      return writer.string(result.path);
    case 'create2':
      writer.string(result.path);
      return encodeStat(writer, result.stat);
    case 'setData':
      return encodeStat(writer, result.stat);
    case 'getData':
      writer.bytes(result.data);
      return encodeStat(writer, result.stat);
    case 'getChildren':
      return writer.strings(result.children, result.children.length);
    case 'delete':
    case 'check':
  }
}

function encodeMultiHeader(writer: JuteWriter, type: number, isDone: boolean, error: number): void {
  writer.int(type);
  writer.bool(isDone);
  writer.int(error);
}

function encodeStat(writer: JuteWriter, stat: NodeStat): void {
  writer.long(stat.czxid);
  writer.long(stat.mzxid);
  writer.long(stat.ctime);
  writer.long(stat.mtime);
  writer.int(stat.version);
  writer.int(stat.cversion);
  writer.int(stat.aversion);
  writer.bigLong(stat.ephemeralOwner);
  writer.int(stat.dataLength);
  writer.int(stat.numChildren);
  writer.long(stat.pzxid);
}
