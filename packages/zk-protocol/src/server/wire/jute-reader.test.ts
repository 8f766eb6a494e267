import { expect, it } from 'vitest';
import { JuteReader, MalformedPacketError } from './jute-reader.js';
import { JuteWriter } from './jute-writer.js';

function readerOf(write: (writer: JuteWriter) => void): JuteReader {
  const writer = new JuteWriter();
  write(writer);
  return new JuteReader(writer.finish());
}

it('tells a missing value from an empty one', () => {
  const reader = readerOf((writer) => {
    writer.bytes(null);
    writer.bytes(Buffer.alloc(0));
    writer.int(-1);
    writer.string('');
  });

  expect([reader.bytes(), reader.bytes(), reader.stringOrNull(), reader.stringOrNull()]).toEqual([
    null,
    Buffer.alloc(0),
    null,
    '',
  ]);
});

it('rejects a missing string where one is required', () => {
  expect(() => readerOf((writer) => writer.int(-1)).string()).toThrow(new MalformedPacketError('a string is missing'));
});

it.each([
  ['a length beyond the end', 5],
  ['a negative length', -2],
])('rejects %s', (_what, length) => {
  const reader = readerOf((writer) => {
    writer.int(length);
    writer.raw(Buffer.from('abc'));
  });

  expect(() => reader.stringOrNull()).toThrow(MalformedPacketError);
});

it('rejects a list that claims more entries than the packet holds, and reads a missing one as empty', () => {
  expect(() => readerOf((writer) => writer.int(1_000_000)).strings()).toThrow(MalformedPacketError);
  expect(readerOf((writer) => writer.int(-1)).strings()).toEqual([]);
});

it('does not read beyond its part of a buffer', () => {
  const reader = new JuteReader(Buffer.alloc(16), 4, 8);

  expect(reader.int()).toBe(0);
  expect(() => reader.byte()).toThrow(MalformedPacketError);
});
