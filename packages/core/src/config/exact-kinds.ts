import { mapOf, type Json, type JsonObject } from '@nodepool/zk-protocol';
import type { YamlPath } from '../contract/yaml-path.js';
import type { ProblemCollector } from './problems.js';
import type { SourceDocument, WrittenScalar } from './source-document.js';

/** Context of {@link checkExactKinds}. */
export interface KindCheck {
  readonly document: SourceDocument;
  readonly problems: ProblemCollector;
  /** Whether values may be quoted in messages. */
  readonly reveal: boolean;
}

/** Text that PyYAML parses as a date. */
const DATE = /^\d{4}-\d\d?-\d\d?(?:(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d(?:\.\d*)?(?:[ \t]*(?:Z|[-+]\d\d?(?::\d\d)?))?)?$/;

/**
 * Reports values of kinds that the validator of Nodepool (Python) distinguishes and JSON does not: `5.0` instead of an
 * integer, a date instead of text, and a key that is not text.
 */
export function checkExactKinds(
  schema: Json | undefined,
  value: Json | undefined,
  path: YamlPath,
  check: KindCheck,
): void {
  if (value === null || value === undefined || typeof value === 'boolean') return;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) checkExactKinds(mapOf(schema)['items'], item, [...path, index], check);
  } else if (typeof value === 'object') {
    for (const [key, item] of Object.entries(value)) {
      checkKey(mapOf(schema), key, [...path, key], check);
      checkExactKinds(schemaOfKey(mapOf(schema), key), item, [...path, key], check);
    }
  } else {
    checkScalar(mapOf(schema), value, path, check);
  }
}

/** Checks that a key is text, in maps of arbitrary keys with values of one kind. Unrestricted maps accept any key. */
function checkKey(schema: JsonObject, key: string, path: YamlPath, { document, problems }: KindCheck): void {
  const isOfOneKind = typeof schema['additionalProperties'] === 'object';
  if (!isOfOneKind || document.isTextKey(path)) return;
  problems.add(document, path, `the key "${key}" is not text, expected text: put it in quotes`, { atKey: true });
}

function schemaOfKey(schema: JsonObject, key: string): Json | undefined {
  const properties = mapOf(schema['properties']);
  return Object.hasOwn(properties, key) ? properties[key] : schema['additionalProperties'];
}

function checkScalar(
  schema: JsonObject,
  value: string | number,
  path: YamlPath,
  { document, problems, reveal }: KindCheck,
): void {
  const types = [schema['type'] ?? []].flat();
  const kind = kindOf(value, types, document.scalarAt(path));
  if (kind === undefined) return;
  const isShown = reveal && schema['x-secret'] !== true && !document.isFromEnvironment(path);
  const { wanted, got, remedy } = kind;
  problems.add(document, path, `expected ${wanted}, got ${isShown ? got : 'something else'} (${remedy})`);
}

function kindOf(
  value: string | number,
  types: readonly Json[],
  written: WrittenScalar | undefined,
): { wanted: string; got: string; remedy: string } | undefined {
  if (written?.isPlain !== true) return undefined;
  const { text } = written;
  const isFloat = typeof value === 'number' && Number.isInteger(value) && text.includes('.');
  if (isFloat && types.includes('integer')) {
    return { wanted: 'an integer', got: `the number ${text}`, remedy: `write ${value}` };
  }
  const isDate = typeof value === 'string' && DATE.test(text) && types.includes('string');
  return isDate ? { wanted: 'text', got: `the date ${text}`, remedy: 'put it in quotes' } : undefined;
}
