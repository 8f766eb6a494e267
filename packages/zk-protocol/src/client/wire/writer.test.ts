import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MalformedFrameError, WireReader } from './reader.js';
import { WireWriter } from './writer.js';
import '../../../test/support/same-examples.js';

describe('WireWriter and WireReader', () => {
  it('read what was written', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
        fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
        fc.integer({ min: -(2 ** 45), max: 2 ** 45 }),
        fc.string({ unit: 'grapheme' }),
        fc.uint8Array({ maxLength: 200 }),
        (int, long, number, text, bytes) => {
          const writer = new WireWriter();
          const mark = writer.beginFrame();
          writer.int(int);
          writer.long(long);
          writer.longNumber(number);
          writer.string(text);
          writer.data(bytes);
          writer.bool(true);
          const length = writer.endFrame(mark);

          const buffer = writer.take();
          const reader = new WireReader().reset(buffer, 4, buffer.length);
          expect(buffer.readInt32BE(0)).toBe(length);
          expect(reader.int()).toBe(int);
          expect(reader.long()).toBe(long);
          expect(reader.longNumber()).toBe(number);
          expect(reader.string()).toBe(text);
          expect(reader.data()).toEqual(Buffer.from(bytes));
          expect(reader.bool()).toBe(true);
          expect(reader.remaining).toBe(0);
        },
      ),
    );
  });

  it('never overwrites a batch that was taken', () => {
    const writer = new WireWriter();
    const batches: { buffer: Buffer; text: string }[] = [];
    for (let i = 0; i < 200; i += 1) {
      const text = `${i}-`.repeat(i * 5);
      writer.raw(Buffer.from(text));
      batches.push({ buffer: writer.take(), text });
    }

    for (const { buffer, text } of batches) expect(buffer.toString()).toBe(text);
  });

  it('keeps a batch contiguous that outgrows its slab', () => {
    const writer = new WireWriter();
    writer.raw(Buffer.alloc(60_000, 'a'));
    const mark = writer.beginFrame();
    writer.data(Buffer.alloc(300_000, 'b'));
    expect(writer.endFrame(mark)).toBe(300_004);

    const batch = writer.take();
    expect(batch.length).toBe(60_000 + 4 + 300_004);
    expect(batch.readInt32BE(60_000)).toBe(300_004);
  });

  it('discards rewound data', () => {
    const writer = new WireWriter();
    writer.int(1);
    const mark = writer.beginFrame();
    writer.string('discarded');
    writer.rewind(mark);
    writer.int(2);

    expect(writer.take()).toEqual(Buffer.from([0, 0, 0, 1, 0, 0, 0, 2]));
  });

  it('rejects reads beyond the frame', () => {
    const reader = new WireReader().reset(Buffer.from([0, 0, 0, 9, 65, 66]), 0, 6);

    expect(() => reader.string()).toThrow(MalformedFrameError);
  });
});
