import { expect, it } from 'vitest';
import { MalformedFrameError, WireReader } from './reader.js';
import { WireWriter } from './writer.js';

function readerOf(write: (writer: WireWriter) => void): WireReader {
  const writer = new WireWriter();
  write(writer);
  const bytes = writer.take();
  return new WireReader().reset(bytes, 0, bytes.length);
}

it('reads a null body and a null string as empty', () => {
  const reader = readerOf((writer) => [-1, -1].forEach((length) => writer.int(length)));

  expect([reader.data(), reader.string()]).toEqual([Buffer.alloc(0), '']);
  expect(reader.remaining).toBe(0);
});

it('copies data, so that a small body does not keep its chunk in memory', () => {
  const reader = readerOf((writer) => writer.data(Buffer.from('body')));

  const body = reader.data();
  reader.buffer.fill(0);

  expect(body.toString()).toBe('body');
});

it('rejects a length beyond the end of the frame, even if the buffer is longer', () => {
  const reader = readerOf((writer) => {
    writer.string('abc');
    writer.string('the next frame');
  });
  reader.reset(reader.buffer, 0, 6);

  expect(() => reader.string()).toThrow(new MalformedFrameError('frame is 1 bytes too short'));
});

it('rejects a list that claims more entries than the frame holds', () => {
  const reader = readerOf((writer) => {
    writer.int(1_000_000);
    writer.string('one');
  });

  expect(() => reader.strings()).toThrow(MalformedFrameError);
});

it('reads ACLs and the transaction id of the reply header', () => {
  const reader = readerOf((writer) => {
    writer.int(1);
    writer.long(0x1_0000_0002n);
    writer.int(0);
    writer.int(1);
    writer.int(31);
    writer.string('digest');
    writer.string('user:hash');
  });
  reader.offset = 16;

  expect(reader.headerZxid).toBe(0x1_0000_0002n);
  expect(reader.acls()).toEqual([{ permissions: 31, scheme: 'digest', id: 'user:hash' }]);
});
