import { OpCode } from '../../src/server/model/constants.js';
import type { JuteWriter } from '../../src/server/wire/jute-writer.js';
import type { RawRequest } from './raw-client.js';

/** Who may do what, as it is on the wire. */
export interface AclEntry {
  readonly permissions: number;
  readonly scheme: string | null;
  readonly id: string;
}

/** Everybody may do everything. */
export const OPEN: readonly AclEntry[] = [{ permissions: 31, scheme: 'world', id: 'anyone' }];

/** What a create may say. */
export interface CreateFields {
  readonly type: number;
  readonly path: string;
  readonly data: Buffer | null;
  readonly acl: readonly AclEntry[];
  readonly flags: number;
  /** Sent only with the operation that has one. */
  readonly ttl: number;
}

/** Creates a znode that everybody may use. */
export function create(path: string, flags = 0, bytes = 0): RawRequest {
  const data = Buffer.alloc(bytes, 1);
  return { ...createWith({ type: OpCode.create2, path, data, acl: OPEN, flags, ttl: 0 }), text: `create ${path}` };
}

export function createWith({ type, path, data, acl, flags, ttl }: CreateFields): RawRequest {
  return {
    type,
    text: `create(${type}) ${path} flags ${flags} ttl ${ttl} ${data?.length ?? 'null'} bytes`,
    encode: (writer) => {
      writer.string(path);
      writer.bytes(data);
      writeAcl(writer, acl);
      writer.int(flags);
      if (type === OpCode.createTtl) writer.long(ttl);
    },
  };
}

export function exists(path: string, watch = false): RawRequest {
  return { ...read(OpCode.exists, path, watch), text: `exists ${path}` };
}

export function getData(path: string): RawRequest {
  return { ...read(OpCode.getData, path, false), text: `getData ${path}` };
}

/** Any operation that reads a path and may leave a watch. */
export function read(type: number, path: string, watch: boolean): RawRequest {
  return {
    type,
    text: `read(${type}) ${path}${watch ? ' watch' : ''}`,
    encode: (writer) => {
      writer.string(path);
      writer.bool(watch);
    },
  };
}

export function setData(path: string, bytes: number): RawRequest {
  return { ...setDataTo(path, Buffer.alloc(bytes, 2), -1), text: `setData ${path}` };
}

export function setDataTo(path: string, data: Buffer | null, version: number): RawRequest {
  return {
    type: OpCode.setData,
    text: `setData ${path} v${version} ${data?.length ?? 'null'} bytes`,
    encode: (writer) => {
      writer.string(path);
      writer.bytes(data);
      writer.int(version);
    },
  };
}

export function setAcl(path: string, acl: readonly AclEntry[], version: number): RawRequest {
  return {
    type: OpCode.setAcl,
    text: `setAcl ${path} ${JSON.stringify(acl)} v${version}`,
    encode: (writer) => {
      writer.string(path);
      writeAcl(writer, acl);
      writer.int(version);
    },
  };
}

/** An operation with a path and the version it expects. */
export function versioned(type: number, text: string, path: string, version: number): RawRequest {
  return pathAndNumber(type, `${text} ${path} v${version}`, path, version);
}

export function pathAndNumber(type: number, text: string, path: string, number: number): RawRequest {
  return {
    type,
    text,
    encode: (writer) => {
      writer.string(path);
      writer.int(number);
    },
  };
}

export function pathOnly(type: number, path: string): RawRequest {
  return { type, text: `operation ${type} ${path}`, encode: (writer) => writer.string(path) };
}

export function getEphemerals(prefix: string): RawRequest {
  return { ...pathOnly(OpCode.getEphemerals, prefix), text: 'getEphemerals' };
}

/** An operation without a body. */
export function bare(type: number): RawRequest {
  return { type, text: `operation ${type}`, encode: () => undefined };
}

/** Several requests in one. */
export function composed(type: number, parts: readonly RawRequest[]): RawRequest {
  return {
    type,
    text: `${type === OpCode.multi ? 'multi' : 'multiRead'} [${parts.map(({ text }) => text).join('; ')}]`,
    encode: (writer) => {
      for (const part of parts) {
        writer.int(part.type);
        writer.bool(false);
        writer.int(-1);
        part.encode(writer);
      }
      writer.int(-1);
      writer.bool(true);
      writer.int(-1);
    },
  };
}

function writeAcl(writer: JuteWriter, acl: readonly AclEntry[]): void {
  writer.int(acl.length);
  for (const { permissions, scheme, id } of acl) {
    writer.int(permissions);
    if (scheme === null) writer.int(-1);
    else writer.string(scheme);
    writer.string(id);
  }
}
