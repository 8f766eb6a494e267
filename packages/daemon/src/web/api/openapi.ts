import type { JsonObject } from '@nodepool/zk-protocol';
import type { ApiOperation, ApiPart } from './operation.js';

/** Root path of all operations. */
export const API_ROOT = '/api/v1';

const ERROR: JsonObject = {
  type: 'object',
  required: ['error', 'text'],
  properties: {
    error: { type: 'string', description: 'kebab-case code, for programs' },
    text: { type: 'string', description: 'What was tried, and the fix' },
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
      503: { description: 'Too many streams are open' },
    },
  },
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
      schemas: { ...schemas, Error: ERROR },
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
  };
}

function describe(operation: ApiOperation): JsonObject {
  const isWrite = operation.method !== 'GET';
  const errors = {
    ...operation.errors,
    ...(isWrite && { 401: 'The token is missing or wrong', 403: 'Writes are disabled' }),
  };
  return {
    operationId: operation.id,
    summary: operation.summary,
    ...(isWrite && { security: [{ token: [] }] }),
    parameters: [...parameters('path', operation.pathParameters ?? {}), ...parameters('query', operation.query ?? {})],
    ...(operation.body && {
      requestBody: { required: false, content: { 'application/json': { schema: operation.body } } },
    }),
    responses: {
      200: { description: 'Done', content: { 'application/json': { schema: operation.answer } } },
      ...Object.fromEntries(Object.entries(errors).map(([status, text]) => [status, errorAnswer(text)])),
      429: errorAnswer('Too many requests; retry later'),
    },
  };
}

function parameters(place: 'path' | 'query', schemas: Readonly<Record<string, JsonObject>>): JsonObject[] {
  return Object.entries(schemas).map(([name, { description = '', ...schema }]) => ({
    ...{ name, in: place, description, schema },
    ...(place === 'path' && { required: true }),
  }));
}

function errorAnswer(description: string): JsonObject {
  return { description, content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } };
}
