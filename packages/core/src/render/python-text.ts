import { numberAsRead } from '@nodepool/zk-protocol';
import type { Json } from '@nodepool/zk-protocol';

/** What Python's `repr()` escapes and could drive a terminal: controls, format marks, separators. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u00a0]/gu;
const NAMED_ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escapeCharacter(character: string): string {
  const named = NAMED_ESCAPES[character];
  if (named !== undefined) return named;
  const code = character.codePointAt(0) ?? 0;
  const hex = (width: number) => code.toString(16).padStart(width, '0');
  if (code < 0x100) return `\\x${hex(2)}`;
  return code < 0x1_0000 ? `\\u${hex(4)}` : `\\U${hex(8)}`;
}

/** Nearly all texts: they need no look at each character's kind. */
const PLAIN = /^[ -~]*$/;

/** Whether a text is of printable ASCII alone: as many columns wide as it is long, with nothing to escape on a terminal. */
export function isPlain(text: string): boolean {
  return PLAIN.test(text);
}

/** The text with control characters made visible, so that stored text can never move a terminal's cursor. */
export function escapeControlCharacters(text: string): string {
  return isPlain(text) ? text : text.replace(UNPRINTABLE, escapeCharacter);
}

function quote(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replaceAll('\\', '\\\\').replaceAll(mark, `\\${mark}`);
  return mark + escapeControlCharacters(escaped) + mark;
}

/** A JSON value as Python's `repr()` shows it: `{'a': [1, True, None]}`. Numbers of a record keep the digits they were read in. */
export function toPythonRepr(value: Json): string {
  if (value === null) return 'None';
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'number') return String(value);
  if (Array.isArray(value)) {
    return `[${value.map((item, index) => numberAsRead(value, index) ?? toPythonRepr(item)).join(', ')}]`;
  }
  const members = Object.entries(value).map(
    ([key, member]) => `${quote(key)}: ${numberAsRead(value, key) ?? toPythonRepr(member)}`,
  );
  return `{${members.join(', ')}}`;
}

/** Texts that JSON writes as they are. */
const PLAIN_IN_JSON = /^[ !#-[\]-~]*$/;

/** Escapes everything beyond ASCII, as Python's JSON writer does. */
function toAsciiJsonString(text: string): string {
  if (PLAIN_IN_JSON.test(text)) return `"${text}"`;
  return JSON.stringify(text).replace(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** A JSON value as Python's JSON writer shows it: `", "` and `": "` as separators, ASCII only. */
export function toPythonJson(value: Json): string {
  if (typeof value === 'string') return toAsciiJsonString(value);
  if (value === null) return 'null';
  if (typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) {
    return `[${value.map((item, index) => numberAsRead(value, index) ?? toPythonJson(item)).join(', ')}]`;
  }
  const members = Object.entries(value).map(
    ([key, member]) => `${toAsciiJsonString(key)}: ${numberAsRead(value, key) ?? toPythonJson(member)}`,
  );
  return `{${members.join(', ')}}`;
}
