import { describe, expect, it } from 'vitest';
import { decodeText } from './decode-text.js';

const bytesOf = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));

describe('decodeText', () => {
  it('decodes UTF-8 and strips the byte order mark', () => {
    expect(decodeText('f', bytesOf([0xef, 0xbb, 0xbf], 'ä: ß'))).toEqual({ text: 'ä: ß' });
  });

  it('keeps a replacement character of the file', () => {
    expect(decodeText('f', bytesOf('a: \uFFFD\n'))).toEqual({ text: 'a: \uFFFD\n' });
  });

  it.each([
    ['Latin-1', bytesOf('labels: []\n# f', [0xfc], 'r Ä\n'), 2, 4, 'this character is not UTF-8'],
    [
      'Latin-1 in lines that end with a carriage return',
      bytesOf('a: 1\rb: \uFFFD', [0xfc], '\r'),
      2,
      5,
      'this character is not UTF-8',
    ],
    ['a character cut off at the end', bytesOf('a: 1\nb: x', [0xe2, 0x82]), 2, 5, 'this character is not UTF-8'],
    ['UTF-16', bytesOf([0xff, 0xfe, 0x61, 0, 0x3a, 0]), 1, 1, 'the file is UTF-16'],
  ])('refuses %s, with its place', (_name, bytes, line, column, what) => {
    expect(decodeText('f', bytes)).toEqual({
      problem: {
        severity: 'error',
        position: { file: 'f', line, column },
        path: '',
        message: `${what}, expected UTF-8: save the file in that encoding`,
      },
    });
  });
});
