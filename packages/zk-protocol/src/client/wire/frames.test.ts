import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameSplitter } from './frames.js';
import { MalformedFrameError, WireReader } from './reader.js';
import '../../../test/support/same-examples.js';

function framed(content: Uint8Array): Buffer {
  const prefix = Buffer.alloc(4);
  prefix.writeInt32BE(content.length);
  return Buffer.concat([prefix, content]);
}

function split(chunks: readonly Buffer[]): Buffer[] {
  const splitter = new FrameSplitter();
  const reader = new WireReader();
  const frames: Buffer[] = [];
  for (const chunk of chunks) {
    splitter.push(chunk);
    while (splitter.next(reader)) frames.push(Buffer.from(reader.buffer.subarray(reader.offset, reader.end)));
  }
  return frames;
}

describe('FrameSplitter', () => {
  it('finds the same frames for any chunk boundaries', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 10 }),
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 20 }),
        (contents, sizes) => {
          const stream = Buffer.concat(contents.map(framed));
          const chunks: Buffer[] = [];
          for (let at = 0, i = 0; at < stream.length; i += 1) {
            const size = sizes[i % sizes.length] ?? 1;
            chunks.push(stream.subarray(at, at + size));
            at += size;
          }

          expect(split(chunks)).toEqual(contents.map((content) => Buffer.from(content)));
        },
      ),
    );
  });

  it('rejects an impossible length', () => {
    expect(() => split([Buffer.from([0xff, 0xff, 0xff, 0xff])])).toThrow(MalformedFrameError);
    expect(() => split([Buffer.from('SSH-2.0-OpenSSH')])).toThrow(MalformedFrameError);
  });
});
