import { expect, it } from 'vitest';
import { ErrorCode, OpCode } from '../model/constants.js';
import { decodeRequest } from './decode-request.js';
import { JuteReader } from './jute-reader.js';
import { JuteWriter } from './jute-writer.js';

function decoded(type: number, write: (writer: JuteWriter) => void = () => undefined) {
  const writer = new JuteWriter();
  write(writer);
  return decodeRequest(type, new JuteReader(writer.finish()));
}

function header(writer: JuteWriter, type: number, isDone = false): void {
  writer.int(type);
  writer.bool(isDone);
  writer.int(-1);
}

function createBody(writer: JuteWriter, flags: number): void {
  writer.string('/a');
  writer.bytes(null);
  writer.int(0);
  writer.int(flags);
}

it.each([
  ['a write', OpCode.setData, true],
  ['a multi', OpCode.multi, true],
  ['a read', OpCode.getData, false],
])('turns %s that is cut off into a rejected request', (_what, type, isWrite) => {
  const request = decoded(type, (writer) => writer.int(100));

  expect(request).toEqual({ op: 'refused', error: ErrorCode.marshalling, isWrite });
});

it('does not know an unknown type, and rejects a reconfiguration', () => {
  expect(decoded(9999)).toBeUndefined();
  expect(decoded(OpCode.reconfig)).toEqual({ op: 'refused', error: ErrorCode.reconfigDisabled, isWrite: true });
});

it.each([
  [OpCode.create2, 0, 'create'],
  [OpCode.create, 4, 'createContainer'],
  [OpCode.createContainer, 0, 'create'],
])('reads a create of type %i with flags %i in a multi as ZooKeeper 3.8 does', (type, flags, op) => {
  const request = decoded(OpCode.multi, (writer) => {
    header(writer, type);
    createBody(writer, flags);
    header(writer, -1, true);
  });

  expect(request).toMatchObject({ op: 'multi', parts: [{ op, path: '/a', data: null, flags }] });
});

it('rejects an operation that cannot be part of a multi', () => {
  const request = decoded(OpCode.multi, (writer) => {
    header(writer, OpCode.getData);
    writer.string('/a');
    writer.bool(false);
    header(writer, -1, true);
  });

  expect(request).toMatchObject({ op: 'refused', error: ErrorCode.marshalling });
});

it('ignores watches in a multiRead, as ZooKeeper 3.8 does', () => {
  const request = decoded(OpCode.multiRead, (writer) => {
    header(writer, OpCode.getChildren);
    writer.string('/a');
    writer.bool(true);
    header(writer, -1, true);
  });

  expect(request).toEqual({ op: 'multiRead', parts: [{ op: 'getChildren', path: '/a', watch: false }] });
});

it.each([
  [OpCode.addWatch, 2],
  [OpCode.removeWatches, 4],
])('rejects request type %i with an unknown mode %i', (type, mode) => {
  const request = decoded(type, (writer) => {
    writer.string('/a');
    writer.int(mode);
  });

  expect(request).toMatchObject({ op: 'refused', error: ErrorCode.marshalling });
});
