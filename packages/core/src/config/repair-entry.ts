import type { ErrorObject } from 'ajv';
import { listOf, mapOf, type Json, type JsonObject } from '@nodepool/zk-protocol';
import type { JsonSchema } from '../contract/driver.js';
import type { YamlPath } from '../contract/yaml-path.js';
import { type SchemaFault, schemaFaults } from './schema-validator.js';
import { valueAt } from './value-path.js';

/** Replacement of a missing or invalid text. Messages of drivers about it are dropped. */
export const PLACEHOLDER = '<missing>';

/** A valid entry made from an invalid one, so that the driver can check the rest. */
export interface RepairedEntry {
  readonly entry: JsonObject;
  /** Maps a path of the repaired entry to the original entry. */
  originalPath(path: YamlPath): YamlPath;
  /** Whether a problem results only from the repair. */
  isAboutRepair(message: string): boolean;
}

const MOST_ROUNDS = 50;

/**
 * Removes values that violate the schema and inserts placeholders for required ones, until the entry is valid.
 * @returns `undefined` if this fails; the original is not changed
 */
export function repairEntry(original: JsonObject, schema: JsonSchema): RepairedEntry | undefined {
  const repair = new Repair(original);
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const faults = schemaFaults(schema, repair.entry);
    if (faults.length === 0) return repair;
    for (const fault of faults) if (!repair.apply(fault)) return undefined;
    repair.compact();
  }
  return undefined;
}

/** Marks a value for removal at the end of the round, so that the paths of other errors stay valid. */
const REMOVED: JsonObject = Object.freeze({});

class Repair implements RepairedEntry {
  readonly entry: JsonObject;
  /** Names of removed entries, which other values may reference. */
  readonly #removedNames = new Set<string>();
  /** Original indexes of the entries of shortened lists. */
  readonly #indexes = new Map<Json, number[]>();

  constructor(original: JsonObject) {
    this.entry = mapOf(copy(original));
  }

  originalPath(path: YamlPath): YamlPath {
    let value: Json | undefined = this.entry;
    return path.map((part) => {
      const list: Json | undefined = value;
      value = valueAt(list, [part]);
      const indexes = list === undefined ? undefined : this.#indexes.get(list);
      return typeof part === 'number' ? (indexes?.[part] ?? part) : part;
    });
  }

  isAboutRepair(message: string): boolean {
    if (message.includes(PLACEHOLDER)) return true;
    return [...this.#removedNames].some((name) => message.includes(JSON.stringify(name)));
  }

  /** @returns whether the error can be repaired */
  apply({ path, error }: SchemaFault): boolean {
    const params: Readonly<Record<string, unknown>> = error.params;
    const value = valueAt(this.entry, path);
    if (value === undefined || value === REMOVED) return true; // removed with an enclosing value
    switch (error.keyword) {
      case 'additionalProperties':
        return this.#remove([...path, String(params['additionalProperty'])]);
      case 'propertyNames':
        return this.#remove([...path, String(params['propertyName'])]);
      case 'dependentRequired':
      case 'dependencies':
        return this.#remove([...path, String(params['property'])]);
      case 'required':
        return this.#fill(path, String(params['missingProperty']), error) || this.#remove(path);
      case 'oneOf':
      case 'anyOf':
        return this.#choose(path, mapOf(value), error) || this.#remove(path);
      case 'not':
        return this.#removeLast(path, mapOf(value), requiredOf(schemaOf(error)['not'])) || this.#remove(path);
      default:
        return this.#remove(path);
    }
  }

  /** Removes the marked values. */
  compact(): void {
    const seen = new Set<Json>();
    const visit = (value: Json): void => {
      if (value === null || typeof value !== 'object' || seen.has(value)) return;
      seen.add(value);
      if (Array.isArray(value)) this.#compactList(value);
      else for (const [key, child] of Object.entries(value)) if (child === REMOVED) Reflect.deleteProperty(value, key);
      for (const child of Object.values(value)) visit(child);
    };
    visit(this.entry);
  }

  #compactList(list: Json[]): void {
    if (!list.includes(REMOVED)) return;
    const before = this.#indexes.get(list) ?? list.map((_item, index) => index);
    this.#indexes.set(
      list,
      before.filter((_original, index) => list[index] !== REMOVED),
    );
    list.splice(0, list.length, ...list.filter((item) => item !== REMOVED));
  }

  /** Marks a value for removal. The entry itself cannot be removed. */
  #remove(path: YamlPath): boolean {
    const key = path.at(-1);
    const parent = valueAt(this.entry, path.slice(0, -1));
    if (key === undefined || parent === null || typeof parent !== 'object') return false;
    const holder = parent as JsonObject;
    this.#rememberNames(holder[key] ?? null);
    holder[key] = REMOVED;
    return true;
  }

  #rememberNames(value: Json, seen = new Set<Json>()): void {
    if (value === null || typeof value !== 'object' || seen.has(value)) return;
    seen.add(value);
    const name = mapOf(value)['name'];
    if (typeof name === 'string') this.#removedNames.add(name);
    for (const child of Object.values(value)) this.#rememberNames(child, seen);
  }

  #fill(path: YamlPath, key: string, error: ErrorObject): boolean {
    const placeholder = placeholderFor(mapOf(mapOf(schemaOf(error)['properties'])[key]));
    if (placeholder === undefined) return false;
    mapOf(valueAt(this.entry, path))[key] = placeholder;
    return true;
  }

  /** Resolves alternatives between keys: keeps the first existing one, or inserts the first. */
  #choose(path: YamlPath, value: JsonObject, error: ErrorObject): boolean {
    const branches = listOf(schemaOf(error)[error.keyword]).map(requiredOf);
    if (branches.some((keys) => keys.length === 0)) return false;
    const present = branches.filter((keys) => keys.every((key) => key in value));
    const [first, ...others] = present;
    if (first === undefined) return (branches[0] ?? []).every((key) => key in value || this.#fill(path, key, error));
    const surplus = others.flat().filter((key) => !first.includes(key));
    return surplus.length > 0 && surplus.every((key) => this.#remove([...path, key]));
  }

  #removeLast(path: YamlPath, value: JsonObject, keys: readonly string[]): boolean {
    const last = keys.findLast((key) => key in value);
    return last !== undefined && this.#remove([...path, last]);
  }
}

/** The schema an error comes from. */
function schemaOf(error: ErrorObject): JsonObject {
  return mapOf(error.parentSchema);
}

function requiredOf(schema: Json | undefined): string[] {
  return listOf(mapOf(schema)['required']).filter((key) => typeof key === 'string');
}

/** A placeholder that fits the schema; `undefined` if there is no obvious one. */
function placeholderFor(schema: JsonObject): Json | undefined {
  if ('enum' in schema) return listOf(schema['enum'])[0];
  if ('const' in schema) return schema['const'];
  if ('pattern' in schema) return undefined;
  const [type] = [schema['type'] ?? null].flat();
  switch (type) {
    case 'string':
      return PLACEHOLDER;
    case 'integer':
    case 'number':
      return typeof schema['minimum'] === 'number' ? schema['minimum'] : 1;
    case 'boolean':
      return false;
    case 'array':
      return [];
    case 'object':
      return {};
    default:
      return undefined;
  }
}

/** Copies a value and preserves shared aliases. Expanding them could take unlimited time. */
function copy(value: Json, known = new Map<Json, Json>()): Json {
  if (value === null || typeof value !== 'object') return value;
  const there = known.get(value);
  if (there !== undefined) return there;
  const copied: Json = Array.isArray(value)
    ? value.map((item) => copy(item, known))
    : Object.fromEntries(Object.entries(value).map(([key, child]) => [key, copy(child, known)]));
  known.set(value, copied);
  return copied;
}
