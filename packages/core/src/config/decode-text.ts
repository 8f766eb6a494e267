import type { ConfigProblem } from '../contract/config.js';
import { lineStarts } from './line-ends.js';

const BYTE_ORDER_MARK = '\uFEFF';

/** Text of a configuration file, or the problem that prevents decoding. */
export type DecodedText = { readonly text: string } | { readonly problem: ConfigProblem };

/** Decodes UTF-8, with or without a byte order mark. Reports invalid UTF-8 with its line and column. */
export function decodeText(file: string, bytes: Uint8Array): DecodedText {
  try {
    return { text: decode(bytes) };
  } catch {
    const position = { file, ...placeOfFirstInvalidByte(bytes) };
    const what = isUtf16(bytes) ? 'the file is UTF-16' : 'this character is not UTF-8';
    const message = `${what}, expected UTF-8: save the file in that encoding`;
    return { problem: { severity: 'error', position, path: '', message } };
  }
}

function decode(bytes: Uint8Array): string {
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}

function placeOfFirstInvalidByte(bytes: Uint8Array): { line: number; column: number } {
  const valid = validPrefix(bytes);
  const starts = lineStarts(valid);
  return { line: starts.length, column: valid.length - (starts.at(-1) ?? 0) + 1 };
}

/** The text before the first invalid byte. */
function validPrefix(bytes: Uint8Array): string {
  const prefix = (length: number) =>
    new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, length), { stream: true });
  let valid = 0;
  for (let invalid = bytes.length + 1; invalid - valid > 1;) {
    const middle = Math.floor((valid + invalid) / 2);
    try {
      prefix(middle);
      valid = middle;
    } catch {
      invalid = middle;
    }
  }
  return prefix(valid);
}

function isUtf16(bytes: Uint8Array): boolean {
  const [first, second] = bytes;
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
}
