import fc from 'fast-check';
import { expect, it } from 'vitest';
import '../../../test/support/same-examples.js';
import { JuteReader } from './jute-reader.js';
import { JuteWriter } from './jute-writer.js';

it('writes what the reader reads, whatever its initial size', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 64 }),
      fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
      fc.integer({ min: -(2 ** 50), max: 2 ** 50 }),
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      fc.array(fc.string({ unit: 'grapheme' })),
      fc.uint8Array({ maxLength: 200 }),
      (size, int, long, bigLong, texts, bytes) => {
        const writer = new JuteWriter(size);
        writer.int(int);
        writer.long(long);
        writer.bigLong(bigLong);
        writer.strings(texts, texts.length);
        writer.bytes(Buffer.from(bytes));
        writer.bool(true);

        const reader = new JuteReader(writer.finish());

        expect([reader.int(), reader.long(), reader.bigLong(), reader.strings()]).toEqual([int, long, bigLong, texts]);
        expect(reader.bytes()).toEqual(Buffer.from(bytes));
        expect(reader.bool()).toBe(true);
        expect(reader.remaining).toBe(0);
      },
    ),
  );
});

it('writes long strings with their length in bytes', () => {
  const text = 'ö'.repeat(5000);
  const writer = new JuteWriter(16);

  writer.string(text);

  expect(writer.length).toBe(4 + 10_000);
  expect(new JuteReader(writer.finish()).string()).toBe(text);
});

it('fills in a number that was reserved before', () => {
  const writer = new JuteWriter(4);
  const at = writer.placeholder();
  writer.string('text');

  writer.patchInt(at, writer.length);

  expect(new JuteReader(writer.finish()).int()).toBe(12);
});
