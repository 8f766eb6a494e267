import { OpCode } from '../../src/server/model/constants.js';
import type { JuteReader } from '../../src/server/wire/jute-reader.js';

/** Fields of a packet by name; times and transaction ids carry their kind in the name. */
export type Fields = Record<string, unknown>;

/** A reply or an event. */
export interface Message {
  kind: 'reply' | 'event';
  /** Request id of a reply. */
  xid?: number;
  zxid: number;
  error?: number;
  body: Fields;
}

/** Reads the rest of an event. */
export function decodeEvent(reader: JuteReader, zxid: number): Message {
  const body = { type: reader.int(), state: reader.int(), path: reader.string(), excess: reader.remaining };
  return { kind: 'event', zxid, body };
}

/** Reads the rest of a reply to a request of the given type. */
export function decodeReply(
  type: number,
  header: { xid: number; zxid: number; error: number },
  reader: JuteReader,
): Message {
  // No client reads what follows an error; ZooKeeper sometimes sends the beginning of a body there.
  if (header.error !== 0) return { kind: 'reply', ...header, body: {} };
  const body = reader.remaining > 0 ? decodeBody(type, reader) : {};
  return { kind: 'reply', ...header, body: { ...body, excess: reader.remaining } };
}

function decodeBody(type: number, reader: JuteReader): Fields {
  switch (type) {
    case OpCode.create:
    case OpCode.sync:
      return { path: reader.string() };
    case OpCode.create2:
    case OpCode.createContainer:
    case OpCode.createTtl:
      return { path: reader.string(), stat: decodeStat(reader) };
    case OpCode.exists:
    case OpCode.setData:
    case OpCode.setAcl:
    case OpCode.check:
      return { stat: decodeStat(reader) };
    case OpCode.getData:
      return { data: reader.bytes()?.toString('base64') ?? null, stat: decodeStat(reader) };
    case OpCode.getAcl:
      return {
        acl: reader.vector(() => `${reader.int()} ${reader.string()}:${reader.string()}`),
        stat: decodeStat(reader),
      };
    case OpCode.getChildren:
    case OpCode.getEphemerals:
      return { names: reader.strings().sort() };
    case OpCode.getChildren2:
      return { names: reader.strings().sort(), stat: decodeStat(reader) };
    case OpCode.multi:
    case OpCode.multiRead:
      return { results: decodeResults(reader) };
    case OpCode.getAllChildrenNumber:
    case OpCode.addWatch:
      return { number: reader.int() };
    case OpCode.whoAmI:
      return { clients: reader.vector(() => `${reader.string()}:${reader.string()}`).sort() };
    default:
      return {};
  }
}

function decodeResults(reader: JuteReader): Fields[] {
  const results: Fields[] = [];
  for (;;) {
    const type = reader.int();
    const isDone = reader.bool();
    const error = reader.int();
    if (isDone) return [...results, { type, error }];
    results.push({ type, error, ...decodeResult(type, reader) });
  }
}

function decodeResult(type: number, reader: JuteReader): Fields {
  if (type === OpCode.error) return { code: reader.int() };
  return type === OpCode.check || type === OpCode.delete ? {} : decodeBody(type, reader);
}

function decodeStat(reader: JuteReader): Fields {
  return {
    czxid: reader.long(),
    mzxid: reader.long(),
    ctime: reader.long(),
    mtime: reader.long(),
    version: reader.int(),
    cversion: reader.int(),
    aversion: reader.int(),
    ephemeralOwner: reader.bigLong(),
    dataLength: reader.int(),
    numChildren: reader.int(),
    pzxid: reader.long(),
  };
}
