import type { Json } from '@nodepool/zk-protocol';
import { toPythonRepr } from './python-text.js';
import { formatValue, pythonStr } from './python-values.js';

/** A field of a template: `{request.requestor_data[tenant]!r:>10}`. */
const FIELD = /^([^!:{}]*)(?:!([^:{}]*))?(?::([^{}]*))?$/;
const PART = /\{\{|\}\}|\{((?:[^{}]|\{[^{}]*\})*)\}|[{}]/g;

/**
 * Fills a template as Python's `str.format` does, with attributes, indexes, conversions and format specifications.
 * @param fields - by name; maps have their keys as attributes and as indexes
 * @throws {Error} the template asks for something that does not exist, or uses something that is not supported
 */
export function formatTemplate(template: string, fields: Readonly<Record<string, Json>>): string {
  return template.replaceAll(PART, (match, field: string | undefined) => {
    if (match === '{{' || match === '}}') return match.charAt(0);
    if (field === undefined)
      throw new Error(`has a brace without its other half: write "${match}${match}" for a brace`);
    return formatField(field, fields);
  });
}

/** What keeps a template from being filled, in words; `undefined`: nothing. @param examples - a value of each field */
export function templateProblem(template: string, examples: Readonly<Record<string, Json>>): string | undefined {
  try {
    formatTemplate(template, examples);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function formatField(field: string, fields: Readonly<Record<string, Json>>): string {
  const parts = FIELD.exec(field);
  if (parts === null) throw new Error(`"{${field}}" is not supported: a format specification holds no fields`);
  const [, path = '', conversion, specification = ''] = parts;
  const value = lookUp(path, fields);
  return formatValue(converted(value, conversion), specification, field);
}

function converted(value: Json, conversion: string | undefined): Json {
  if (conversion === undefined) return value;
  if (conversion === 's') return pythonStr(value);
  if (conversion === 'r') return toPythonRepr(value);
  if (conversion === 'a') return toAscii(toPythonRepr(value));
  throw new Error(`"!${conversion}" is no conversion, expected "!s", "!r" or "!a"`);
}

function toAscii(text: string): string {
  return text.replaceAll(/[^\0-\x7f]/gu, (char) => {
    const code = char.codePointAt(0) ?? 0;
    const hex = code.toString(16);
    if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`;
    return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
  });
}

/** E.g. `request.requestor_data[tenant]`. */
function lookUp(expression: string, fields: Readonly<Record<string, Json>>): Json {
  const path = [...expression.matchAll(/(?:^|\.)([A-Za-z_]\w*)|\[([^\]]+)\]/g)];
  const isWhole = path.map(([part]) => part).join('') === expression && path.length > 0;
  if (!isWhole) throw new Error(`"{${expression}}" is no field, expected ${namesOf(fields)}`);
  let value: Json | undefined = fields;
  for (const [, name, index] of path) value = member(value, name ?? index ?? '');
  if (value === undefined) throw new Error(`"{${expression}}" does not exist, expected ${namesOf(fields)}`);
  return value;
}

/** `{image_name}, {request.id}`: what may be asked for. */
function namesOf(fields: Readonly<Record<string, Json>>): string {
  return Object.entries(fields)
    .flatMap(([name, value]) => {
      const isMap = value !== null && typeof value === 'object' && !Array.isArray(value);
      return isMap ? Object.keys(value).map((key) => `{${name}.${key}}`) : [`{${name}}`];
    })
    .join(', ');
}

function member(value: Json | undefined, key: string): Json | undefined {
  if (Array.isArray(value)) return /^\d+$/.test(key) ? value[Number(key)] : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.hasOwn(value, key) ? value[key] : undefined;
}
