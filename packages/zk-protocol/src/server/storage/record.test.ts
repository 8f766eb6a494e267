import { expect, it } from 'vitest';
import { JuteWriter } from '../wire/jute-writer.js';
import { mayBeginLaterBatch, readRecord, RECORD_HEADER_BYTES, recordBytes, writeRecord } from './record.js';

function recordOf(text: string, batch = 1, isFirst = true): Buffer {
  const writer = new JuteWriter();
  writeRecord(writer, { batch, isFirst }, (payload) => payload.raw(Buffer.from(text)));
  return writer.finish();
}

it('reads back a record at an offset', () => {
  const bytes = Buffer.concat([Buffer.alloc(3), recordOf('payload', 0x7fff_ffff, false)]);

  const found = readRecord(bytes, 3);

  expect(found).toMatchObject({ batch: 0x7fff_ffff, isFirst: false, end: bytes.length });
  expect(found?.payload.toString()).toBe('payload');
});

it('finds no record where any bit is damaged, or the end is missing', () => {
  const bytes = recordOf('payload');

  for (let at = 0; at < bytes.length; at++) {
    const damaged = Buffer.from(bytes);
    damaged[at] = (damaged[at] ?? 0) ^ 1;
    expect(readRecord(damaged, 0)).toBeUndefined();
    expect(readRecord(bytes.subarray(0, at), 0)).toBeUndefined();
  }
});

it.each([
  ['an empty record', 0],
  ['a record beyond the limit', 0x1000_0001],
])('takes the header of %s for none', (_what, length) => {
  const header = Buffer.alloc(RECORD_HEADER_BYTES);
  header.writeUInt32BE(length);

  expect(recordBytes(header, 0)).toBeNaN();
});

it.each([
  [6, true, 5, true],
  [6, false, 5, false],
  [7, false, 5, true],
  [5, true, 5, false],
  [2_000_000, true, 5, false],
  [1, true, undefined, true],
])('tells whether batch %i (first record: %s) is later than batch %s', (batch, isFirst, last, expected) => {
  const mark = last === undefined ? undefined : { batch: last, isFirst: true };

  expect(mayBeginLaterBatch(recordOf('x', batch, isFirst), 0, mark)).toBe(expected);
});
