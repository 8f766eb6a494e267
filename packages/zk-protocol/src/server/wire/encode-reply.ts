import type { MultiResult, NodeStat, Notification, ReadResult, Reply, ReplyBody } from '../model/replies.js';
import { EVENT_STATE_CONNECTED, OpCode, Xid } from '../model/constants.js';
import { writeAcl } from './acl.js';
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

/** Appends the reply to a ConnectRequest; a timeout of 0 means that the session does not exist. */
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

type BodyOf<Kind extends ReplyBody['kind']> = Extract<ReplyBody, { kind: Kind }>;

function encodeBody(writer: JuteWriter, body: ReplyBody): void {
  switch (body.kind) {
    case 'path':
      writer.string(body.path);
      return;
    case 'path-stat':
      writer.string(body.path);
      encodeStat(writer, body.stat);
      return;
    case 'stat':
      encodeStat(writer, body.stat);
      return;
    case 'data':
      writer.bytes(body.data);
      encodeStat(writer, body.stat);
      return;
    case 'acl':
      writeAcl(writer, body.acl);
      encodeStat(writer, body.stat);
      return;
    case 'strings':
      writer.strings(body.strings, body.strings.length);
      return;
    case 'strings-stat':
      writer.strings(body.strings, body.strings.length);
      encodeStat(writer, body.stat);
      return;
    case 'multi':
      for (const result of body.results) encodeMultiResult(writer, result);
      encodeMultiHeader(writer, OpCode.error, true, -1);
      return;
    case 'count':
      writer.int(body.count);
      return;
    case 'clients':
      encodeClients(writer, body.clients);
  }
}

function encodeClients(writer: JuteWriter, clients: BodyOf<'clients'>['clients']): void {
  writer.int(clients.length);
  for (const { scheme, user } of clients) {
    writer.string(scheme);
    writer.string(user);
  }
}

function encodeMultiResult(writer: JuteWriter, result: MultiResult | ReadResult): void {
  if (result.result === 'error') {
    encodeMultiHeader(writer, OpCode.error, false, result.error);
    writer.int(result.error);
    return;
  }
  encodeMultiHeader(writer, OpCode[result.result], false, 0);
  switch (result.result) {
    case 'create':
      writer.string(result.path);
      return;
    case 'create2':
      writer.string(result.path);
      encodeStat(writer, result.stat);
      return;
    case 'setData':
      encodeStat(writer, result.stat);
      return;
    case 'getData':
      writer.bytes(result.data);
      encodeStat(writer, result.stat);
      return;
    case 'getChildren':
      writer.strings(result.children, result.children.length);
      return;
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
