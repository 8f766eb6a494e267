import type { ConfigProblem } from '../contract/config.js';

const LINE_FEED = 0x0a;
const BYTE_ORDER_MARK = '\uFEFF';

/** The text of a configuration file, or what keeps it from being one. */
export type DecodedText = { readonly text: string } | { readonly problem: ConfigProblem };

/** Decodes UTF-8, with or without a byte order mark. What is no UTF-8 is reported with its line and column. */
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

/** A line feed is never a part of another character, so that lines can be decoded one by one. */
function placeOfFirstInvalidByte(bytes: Uint8Array): { line: number; column: number } {
  for (let line = 1, start = 0; start <= bytes.length; line++) {
    const found = bytes.indexOf(LINE_FEED, start);
    const end = found < 0 ? bytes.length : found;
    const valid = validPrefix(bytes.subarray(start, end));
    if (valid !== undefined) return { line, column: valid.length + 1 };
    start = end + 1;
  }
  return { line: 1, column: 1 };
}

/** The text before the first invalid byte; `undefined` when all is valid. */
function validPrefix(bytes: Uint8Array): string | undefined {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  const [prefix] = text.split('\uFFFD', 1);
  return Buffer.from(text).equals(bytes) ? undefined : prefix;
}

function isUtf16(bytes: Uint8Array): boolean {
  const [first, second] = bytes;
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
}
