import { describe, expect, it } from 'vitest';
import { MemoryFileSystem } from '../../../test/server/memory-file-system.js';
import { JuteWriter } from '../wire/jute-writer.js';
import { writeRecord } from './record.js';
import { RecordFile } from './record-file.js';

const PATH = '/data/records';
const MAGIC = Buffer.from('MAGIC');

/** A file with a record of each size, each a batch of its own. */
function fileOf(sizes: readonly number[]): { content: Buffer; ends: number[] } {
  const writer = new JuteWriter(1024);
  writer.raw(MAGIC);
  const ends = sizes.map((size, index) => {
    writeRecord(writer, { batch: index + 1, isFirst: true }, (payload) => payload.raw(Buffer.alloc(size, index + 1)));
    return writer.length;
  });
  return { content: writer.finish(), ends };
}

function read(content: Buffer, pieceBytes: number) {
  const fs = new MemoryFileSystem();
  fs.overwrite(PATH, content);
  const use = async (file: RecordFile) => {
    const sizes: number[] = [];
    const begins = await file.beginsWith(MAGIC);
    const { at, mark } = await file.readRecords(MAGIC.length, ({ payload }, offset) => {
      expect(payload).toEqual(Buffer.alloc(payload.length, sizes.length + 1));
      expect(content.readUInt32BE(offset)).toBe(payload.length);
      sizes.push(payload.length);
    });
    return { begins, sizes, at, batch: mark?.batch, later: await file.findLaterBatch(at, mark) };
  };
  return RecordFile.use(fs, PATH, use, pieceBytes);
}

describe.each([12, 13, 20, 64, 100, 1_000_000])('records read in pieces of %i bytes', (pieceBytes) => {
  const sizes = [1, 30, 5, 200, 7, 7, 90];
  const { content, ends } = fileOf(sizes);
  const end = content.length;

  it('are all there', async () => {
    expect(await read(content, pieceBytes)).toEqual({ begins: true, sizes, at: end, batch: 7, later: undefined });
  });

  it('end where the file is cut', async () => {
    for (let length = MAGIC.length; length <= end; length++) {
      const whole = ends.filter((each) => each <= length);
      const found = await read(content.subarray(0, length), pieceBytes);

      expect(found).toMatchObject({ sizes: sizes.slice(0, whole.length), at: whole.at(-1) ?? MAGIC.length });
      expect(found.later).toBeUndefined();
    }
  });

  it('end where one is damaged, and later ones are found behind it', async () => {
    for (let damaged = 0; damaged < sizes.length; damaged++) {
      const bytes = Buffer.from(content);
      const last = (ends[damaged] ?? 0) - 1;
      bytes[last] = (bytes[last] ?? 0) ^ 1;

      expect(await read(bytes, pieceBytes)).toMatchObject({
        sizes: sizes.slice(0, damaged),
        at: ends[damaged - 1] ?? MAGIC.length,
        later: damaged + 1 < sizes.length ? ends[damaged] : undefined,
      });
    }
  });
});
