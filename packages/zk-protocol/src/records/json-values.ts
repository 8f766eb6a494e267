import type { Json, JsonObject } from './types.js';

// Readers of parsed JSON and YAML. A value of another type counts as missing: a schema check reports it where it matters.

/** Whether the value is a map: neither a list nor `null`. */
export function isMap(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value as a map; `{}` otherwise. */
export function mapOf(value: Json | undefined): JsonObject {
  return isMap(value) ? value : {};
}

/** The value as a list; `[]` otherwise. */
export function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

/** The maps of a list. */
export function mapsOf(value: Json | undefined): JsonObject[] {
  return listOf(value).filter(isMap);
}

/** The value as text; `undefined` otherwise. */
export function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The texts of a list. */
export function textsOf(value: Json | undefined): string[] {
  return listOf(value).filter((item) => typeof item === 'string');
}

/** The value as a number; `undefined` otherwise. */
export function numberOf(value: Json | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
