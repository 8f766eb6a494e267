import type { Json, JsonObject } from '@nodepool/zk-protocol';
import type { JsonSchema } from '../contract/driver.js';

/** Documentation of a key in addition to its type. */
interface Notes {
  /** Default value. */
  readonly default?: Json;
  /** Description of a default that is not a fixed value. */
  readonly otherwise?: string;
  readonly examples?: readonly Json[];
  /** Whether a change takes effect at the next start. */
  readonly restart?: boolean;
  readonly secret?: boolean;
}

function noted(kind: JsonObject, description: string, notes: Notes): JsonSchema {
  return {
    ...kind,
    description,
    ...(notes.default !== undefined && { default: notes.default }),
    ...(notes.otherwise !== undefined && { 'x-default': notes.otherwise }),
    ...(notes.examples !== undefined && { examples: [...notes.examples] }),
    ...(notes.restart === true && { 'x-restart': true }),
    ...(notes.secret === true && { 'x-secret': true }),
  };
}

/** A text, which may be empty. */
export function text(description: string, notes: Notes = {}): JsonSchema {
  return noted({ type: 'string' }, description, notes);
}

/** A text that is not empty. */
export function name(description: string, notes: Notes = {}): JsonSchema {
  return noted({ type: 'string', minLength: 1 }, description, notes);
}

/** A list of texts. */
export function texts(description: string, notes: Notes = {}): JsonSchema {
  return noted({ type: 'array', items: { type: 'string' } }, description, notes);
}

/** A whole number. */
export function integer(description: string, notes: Notes = {}, range: JsonObject = {}): JsonSchema {
  return noted({ type: 'integer', ...range }, description, notes);
}

/** `true` or `false`. */
export function flag(description: string, notes: Notes = {}): JsonSchema {
  return noted({ type: 'boolean' }, description, notes);
}

/** A map with any keys. */
export function freeMap(description: string, values: Json = true, notes: Notes = {}): JsonSchema {
  return noted({ type: 'object', additionalProperties: values }, description, notes);
}

/** A map with these keys. */
export function section(title: string, properties: JsonObject, required: readonly string[] = []): JsonSchema {
  return { title, type: 'object', required: [...required], properties };
}

/** A list of maps. */
export function list(description: string, items: JsonSchema, notes: Notes = {}): JsonSchema {
  return noted({ type: 'array', items }, description, { otherwise: 'none', ...notes });
}
