import { OpCode } from '../../src/embedded/model/constants.js';
import type { RawRequest } from './raw-client.js';

/** Creates a znode that everybody may use. */
export function create(path: string, flags = 0, bytes = 0): RawRequest {
  return {
    type: OpCode.create2,
    text: `create ${path}`,
    encode: (writer) => {
      writer.string(path);
      writer.bytes(Buffer.alloc(bytes, 1));
      writer.int(1);
      writer.int(31);
      writer.string('world');
      writer.string('anyone');
      writer.int(flags);
    },
  };
}

export function exists(path: string, watch = false): RawRequest {
  return {
    type: OpCode.exists,
    text: `exists ${path}`,
    encode: (writer) => {
      writer.string(path);
      writer.bool(watch);
    },
  };
}

export function getData(path: string): RawRequest {
  return { ...exists(path), type: OpCode.getData, text: `getData ${path}` };
}

export function setData(path: string, bytes: number): RawRequest {
  return {
    type: OpCode.setData,
    text: `setData ${path}`,
    encode: (writer) => {
      writer.string(path);
      writer.bytes(Buffer.alloc(bytes, 2));
      writer.int(-1);
    },
  };
}

export function getEphemerals(prefix: string): RawRequest {
  return { type: OpCode.getEphemerals, text: 'getEphemerals', encode: (writer) => writer.string(prefix) };
}

export function bare(type: number): RawRequest {
  return { type, text: `operation ${type}`, encode: () => undefined };
}
