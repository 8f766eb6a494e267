import { escapeControlCharacters, numberAsRead } from '@nodepool/zk-protocol';
import type { Json } from '@nodepool/zk-protocol';

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
