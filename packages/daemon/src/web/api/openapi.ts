import type { JsonObject } from '@nodepool/zk-protocol';
import type { ApiOperation, ApiPart } from './operation.js';

/** Root path of all operations. */
export const API_ROOT = '/api/v1';

/** A problem, as of RFC 9457. */
const PROBLEM: JsonObject = {
  type: 'object',
  required: ['type', 'title', 'status', 'code', 'detail'],
  properties: {
    type: { type: 'string', const: 'about:blank' },
    title: { type: 'string', description: 'Meaning of the status' },
    status: { type: 'integer' },
    code: { type: 'string', description: 'kebab-case code, for programs; never changes' },
    detail: { type: 'string', description: 'What was tried, and the fix' },
    longest_ttl: { type: 'number', description: 'With ttl-too-long and max-hold-age: what is allowed, seconds' },
  },
};

const EVENTS: JsonObject = {
  get: {
    operationId: 'streamEvents',
    summary: 'Changes as server-sent events; slow readers are disconnected',
    parameters: [
      {
        name: 'types',
        in: 'query',
        description:
          'Names of events, separated by commas: node, request, image, launch, control, overview. Default: all but overview',
        schema: { type: 'string' },
      },
    ],
    responses: {
      200: {
        description: 'Events until either side ends it',
        content: { 'text/event-stream': { schema: { type: 'string' } } },
      },
      429: { description: 'Too many streams of this client are open' },
      503: { description: 'Too many streams are open' },
    },
  },
};

/** Longest text of the header `Idempotency-Key`. */
export const MAX_IDEMPOTENCY_KEY = 255;

const IDEMPOTENCY_KEY: JsonObject = {
  ...{ name: 'Idempotency-Key', in: 'header', required: false },
  description:
    'A random text of the client. A repetition with the same text has no further effect, and the same answer',
  schema: { type: 'string', minLength: 1, maxLength: MAX_IDEMPOTENCY_KEY },
};

/** What the document is made for. */
export interface DocumentOptions {
  readonly title: string;
  readonly version: string;
}

/** The OpenAPI 3.1 document of a service. */
export function openApiDocument({ operations, schemas }: ApiPart, options: DocumentOptions): JsonObject {
  const paths: Record<string, JsonObject> = { [`${API_ROOT}/events`]: EVENTS };
  for (const operation of operations) {
    const path = `${API_ROOT}${operation.path}`;
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: describe(operation) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: options.title,
      version: options.version,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      description: 'Reads need no login. Writes need a bearer token from the secure file and are disabled without one.',
    },
    paths,
    components: {
      schemas: { ...schemas, Problem: PROBLEM },
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
  };
}

function describe(operation: ApiOperation): JsonObject {
  const isWrite = operation.method !== 'GET';
  const needsToken = isWrite || operation.authorize !== undefined;
  const errors = {
    ...operation.errors,
    ...(needsToken && { 401: 'The token is missing or wrong', 403: forbidden(operation) }),
  };
  return {
    operationId: operation.id,
    summary: operation.summary,
    ...(needsToken && { security: [{ token: [] }] }),
    parameters: [
      ...parameters('path', operation.pathParameters ?? {}),
      ...parameters('query', operation.query ?? {}),
      ...(operation.isIdempotent ? [IDEMPOTENCY_KEY] : []),
    ],
    ...(operation.body && {
      requestBody: { required: false, content: { 'application/json': { schema: operation.body } } },
    }),
    responses: {
      200: {
        description: operation.stream ? 'Events until either side ends it' : 'Done',
        content: { [operation.stream ? 'text/event-stream' : 'application/json']: { schema: operation.answer } },
      },
      429: errorAnswer('Too many requests; retry later'),
      ...Object.fromEntries(Object.entries(errors).map(([status, text]) => [status, errorAnswer(text)])),
    },
  };
}

const forbidden = ({ authorize }: ApiOperation) =>
  authorize ? 'The token does not allow it' : 'The token is not one of api-tokens (not-operator), or there are none';

function parameters(place: 'path' | 'query', schemas: Readonly<Record<string, JsonObject>>): JsonObject[] {
  return Object.entries(schemas).map(([name, { description = '', ...schema }]) => ({
    ...{ name, in: place, description, schema },
    ...(place === 'path' && { required: true }),
  }));
}

function errorAnswer(description: string): JsonObject {
  return {
    description,
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
  };
}
