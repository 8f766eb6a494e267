import type { ErrorObject } from 'ajv';
import { listOf, mapOf, type Json, type JsonObject } from '@nodepool/zk-protocol';
import type { ConfigMode } from '../contract/config.js';
import { pythonNumber } from './python-number.js';
import type { WrittenScalar } from './source-document.js';

/** Interpretation by Nodepool (Python) of a value that violates the schema. */
export interface Reading {
  /** Replacement of the value. The value itself keeps it; `undefined` treats the key as absent. */
  readonly value: Json | undefined;
  /** Effect of the value, in words. Default: names the replacement. */
  readonly meaning?: string;
  /** Nodepool's `config-validate` also accepts the value: no warning. */
  readonly isUsual?: boolean;
}

/** A value that violates the schema. */
export interface Fault {
  readonly error: ErrorObject;
  readonly written: WrittenScalar | undefined;
  /** Whether the enclosing map requires the key. */
  readonly isRequired: boolean;
  /** Whether the value is an entry of a list. */
  readonly isListed: boolean;
  /** Whether the value belongs to a provider entry. */
  readonly isOfProvider: boolean;
}

const ABSENT: Reading = { value: undefined };
const PYTHON_INTEGER = /^\s*[-+]?\d+(?:_\d+)*\s*$/;
const PYTHON_FLOAT = /^\s*[-+]?(?:\d+(?:_\d+)*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*$/;

/**
 * Interprets a value that violates the schema as Nodepool (Python) does. Its services check no schema and use Python's
 * conversions. Its validator accepts booleans as integers and has no ranges.
 * @returns `undefined` if the value is an error
 */
export function readingOf(fault: Fault, mode: ConfigMode): Reading | undefined {
  const { error, isRequired, isListed } = fault;
  const meaning = mapOf(mapOf(error.parentSchema)['x-tolerates'])[error.keyword];
  const isRange = /^(?:exclusive)?(?:minimum|maximum)$/i.test(error.keyword);
  if (typeof meaning === 'string')
    return mode === 'service' || isRange ? { value: error.data as Json, meaning } : undefined;
  if (error.keyword === 'minLength' && error.data === '') return isRequired || isListed ? undefined : ABSENT;
  const types = typesOf(error);
  if (types.length === 0) return undefined;
  const usual = usualReading(types, error);
  return usual ?? (mode === 'service' ? pythonReading(types, fault) : undefined);
}

function typesOf({ keyword, parentSchema, schema }: ErrorObject): string[] {
  if (keyword === 'type') return [schema as string | string[]].flat();
  const branches = keyword === 'oneOf' || keyword === 'anyOf' ? listOf(mapOf(parentSchema)[keyword]) : [];
  return branches.flatMap((branch) => [mapOf(branch)['type'] ?? []].flat()).map(String);
}

/** Interpretation of values that the validator also accepts. */
function usualReading(types: readonly string[], { data, parentSchema }: ErrorObject): Reading | undefined {
  const isNumericText = mapOf(parentSchema)['x-numeric-text'] === true;
  if (typeof data === 'boolean' && (types.includes('integer') || isNumericText)) {
    return { value: types.includes('string') ? pythonBoolean(data) : Number(data), isUsual: true };
  }
  return isNumericText && typeof data === 'string' && PYTHON_FLOAT.test(data)
    ? { value: numberIn(data), isUsual: true }
    : undefined;
}

function pythonReading(types: readonly string[], fault: Fault): Reading | undefined {
  const data = fault.error.data as Json;
  if (data === null) return readingOfNothing(types, fault);
  if (typeof data === 'object') return undefined;
  if (types.includes('boolean')) return { value: isTrue(data) };
  if (typeof data !== 'string') {
    if (types.includes('string')) return textReading(data, fault);
    const isFraction = typeof data === 'number' && !Number.isNaN(data) && types.includes('integer');
    return isFraction ? { value: data, meaning: 'taken as it is' } : undefined;
  }
  if (types.includes('integer') && PYTHON_INTEGER.test(data)) return { value: numberIn(data) };
  return types.includes('number') && PYTHON_FLOAT.test(data) ? { value: numberIn(data) } : undefined;
}

/**
 * Interprets an empty key. Nodepool (Python) fails if it iterates over the value, and does not connect without the ZooKeeper
 * sections: treating these as absent would select another database, or a connection in plain text.
 */
function readingOfNothing(
  types: readonly string[],
  { error, isRequired, isListed, isOfProvider }: Fault,
): Reading | undefined {
  const schema = mapOf(error.parentSchema);
  const isVital = 'x-loss' in schema || listOf(schema['required']).length > 0;
  if (isRequired || isListed || isVital) return undefined;
  if (types.includes('boolean')) return { value: false };
  const isListOfMaps = types.includes('array') && mapOf(schema['items'])['type'] === 'object';
  return isListOfMaps && isOfProvider ? undefined : ABSENT;
}

function isTrue(data: string | number | boolean): boolean {
  return Boolean(data);
}

function textReading(data: number | boolean, { error, written }: Fault): Reading {
  if (mapOf(error.parentSchema)['x-as-written'] === true) {
    return { value: written?.text ?? String(data), meaning: 'taken as the text that stands here' };
  }
  return { value: typeof data === 'boolean' ? pythonBoolean(data) : pythonNumber(data, written?.text) };
}

function pythonBoolean(data: boolean): string {
  return data ? 'True' : 'False';
}

function numberIn(text: string): number {
  return Number(text.replaceAll('_', ''));
}

/**
 * Whether the map around a value requires its key.
 * @param schemaPath - schema path of an error, such as `#/properties/name/type`
 */
export function isRequiredBy(schema: JsonObject, schemaPath: string, key: string): boolean {
  const parts = schemaPath.split('/').slice(1, -1);
  const place = parts.lastIndexOf('properties');
  if (place === -1) return false;
  const parent = parts.slice(0, place).reduce<Json>((node, part) => stepInto(node, decodeURIComponent(part)), schema);
  return listOf(mapOf(parent)['required']).includes(key);
}

function stepInto(node: Json, part: string): Json {
  const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
  return (Array.isArray(node) ? node[Number(key)] : mapOf(node)[key]) ?? null;
}
