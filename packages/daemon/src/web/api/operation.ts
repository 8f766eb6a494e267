import type { Json, JsonObject } from '@nodepool/zk-protocol';

/** What an operation is called with, checked against its schemas. */
export interface ApiCall {
  /** From the path. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Empty for operations without a body. */
  readonly body: JsonObject;
  /** Who writes, by the name of the token; `undefined` for reads. */
  readonly actor: string | undefined;
}

/** One operation below `/api/v1`: what it is called with, what it answers, and what it does. */
export interface ApiOperation {
  /** Name in the OpenAPI document, `camelCase`. */
  readonly id: string;
  /** Everything but GET writes, and needs a token. */
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Below `/api/v1`, parameters in braces: `/nodes/{id}`. */
  readonly path: string;
  readonly summary: string;
  /** Schemas by name, each with a description. */
  readonly pathParameters?: Readonly<Record<string, JsonObject>>;
  readonly query?: Readonly<Record<string, JsonObject>>;
  readonly body?: JsonObject;
  readonly answer: JsonObject;
  /** Further status codes and when they are sent. */
  readonly errors?: Readonly<Record<number, string>>;
  /**
   * Reads answer at once, but for single records that are not in memory. A long list answers its items one by one, made from
   * what does not change while they are taken.
   * @throws ApiError
   */
  handle(call: ApiCall): Json | Promise<Json> | Iterable<Json>;
}

/** The operations of a service with the schemas they refer to as `#/components/schemas/NAME`. */
export interface ApiPart {
  readonly operations: readonly ApiOperation[];
  readonly schemas: Readonly<Record<string, JsonObject>>;
}

/** A reference to a named schema. */
export function ref(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}

/** A list of such values. */
export function listOf(items: JsonObject): JsonObject {
  return { type: 'array', items };
}

/** A map with exactly these members. */
export function record(properties: Readonly<Record<string, JsonObject>>, description?: string): JsonObject {
  return {
    type: 'object',
    ...(description !== undefined && { description }),
    required: Object.keys(properties),
    properties: { ...properties },
    additionalProperties: false,
  };
}

/** The same, or null. */
export function orNull(schema: JsonObject): JsonObject {
  return typeof schema['type'] === 'string'
    ? { ...schema, type: [schema['type'], 'null'] }
    : { anyOf: [schema, { type: 'null' }] };
}

/** Numbers by name. */
export const NUMBERS: JsonObject = { type: 'object', additionalProperties: { type: 'number' } };
/** A text. */
export const TEXT: JsonObject = { type: 'string' };
/** A number. */
export const NUMBER: JsonObject = { type: 'number' };
/** A whole number. */
export const WHOLE: JsonObject = { type: 'integer' };
/** `true` or `false`. */
export const FLAG: JsonObject = { type: 'boolean' };
/** Seconds since the UNIX epoch, with a fraction. */
export const TIME: JsonObject = { type: 'number', description: 'UNIX time in seconds' };
