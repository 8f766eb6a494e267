import type { ServerResponse } from 'node:http';
import type { Json, JsonObject } from '@nodepool/zk-protocol';
import type { Caller, Credentials } from '../gate.js';

/** Parameters of an operation, checked against its schemas. */
export interface ApiCall {
  /** From the path. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Empty for operations without a body. */
  readonly body: JsonObject;
  /** Name of the token; `undefined` for reads. */
  readonly actor: string | undefined;
  /** What {@link ApiOperation.authorize} returned. */
  readonly caller?: Caller | undefined;
  /** Header `Idempotency-Key`. */
  readonly idempotencyKey?: string | undefined;
  /** Says with which `cursor` the next page is read, in the header `Link`. Only for operations that answer one caller. */
  readonly next?: ((cursor: string) => void) | undefined;
}

/** An operation below `/api/v1`. */
export interface ApiOperation {
  /** Name in the OpenAPI document, `camelCase`. */
  readonly id: string;
  /** All methods except GET need a token. */
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Path below `/api/v1` with parameters in braces: `/nodes/{id}`. */
  readonly path: string;
  readonly summary: string;
  /** Schemas by name, each with a description. */
  readonly pathParameters?: Readonly<Record<string, JsonObject>>;
  readonly query?: Readonly<Record<string, JsonObject>>;
  readonly body?: JsonObject;
  readonly answer: JsonObject;
  /**
   * Checks who calls it. Default: everybody may read, owners of an `api-tokens` entry may write. Its answers are for the caller
   * alone: they are not cached, and pages of other origins cannot read them.
   * @throws ApiError
   */
  readonly authorize?: (credentials: Credentials) => Caller;
  /** Answers with server-sent events instead of {@link handle}. @throws ApiError before anything was sent */
  readonly stream?: (call: ApiCall, response: ServerResponse) => Promise<void>;
  /** Whether it honours the header `Idempotency-Key`. */
  readonly isIdempotent?: boolean;
  /** Additional status codes with descriptions. */
  readonly errors?: Readonly<Record<number, string>>;
  /**
   * Reads from memory return synchronously. A long list is an iterable over data that does not change meanwhile.
   * @throws ApiError
   */
  handle(call: ApiCall): Json | Promise<Json> | Iterable<Json>;
}

/** Operations with the schemas that they refer to as `#/components/schemas/NAME`. */
export interface ApiPart {
  readonly operations: readonly ApiOperation[];
  readonly schemas: Readonly<Record<string, JsonObject>>;
}

/** Joins several parts. */
export function joinParts(...parts: readonly ApiPart[]): ApiPart {
  return {
    operations: parts.flatMap(({ operations }) => operations),
    schemas: Object.assign({}, ...parts.map(({ schemas }) => schemas)) as ApiPart['schemas'],
  };
}

/** A reference to a named schema. */
export function ref(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}

/** The schema of a list. */
export function listOf(items: JsonObject): JsonObject {
  return { type: 'array', items };
}

/** The schema of an object with exactly these members. */
export function record(properties: Readonly<Record<string, JsonObject>>, description?: string): JsonObject {
  return {
    type: 'object',
    ...(description !== undefined && { description }),
    required: Object.keys(properties),
    properties: { ...properties },
    additionalProperties: false,
  };
}

/** The schema of a value or null. */
export function orNull(schema: JsonObject): JsonObject {
  return typeof schema['type'] === 'string'
    ? { ...schema, type: [schema['type'], 'null'] }
    : { anyOf: [schema, { type: 'null' }] };
}

/** Schema of an object of numbers. */
export const NUMBERS: JsonObject = { type: 'object', additionalProperties: { type: 'number' } };
/** Schema of a string. */
export const TEXT: JsonObject = { type: 'string' };
/** Schema of a number. */
export const NUMBER: JsonObject = { type: 'number' };
/** Schema of an integer. */
export const WHOLE: JsonObject = { type: 'integer' };
/** Schema of a boolean. */
export const FLAG: JsonObject = { type: 'boolean' };
/** Schema of a time in seconds since the UNIX epoch, with a fraction. */
export const TIME: JsonObject = { type: 'number', description: 'UNIX time in seconds' };
