import { expect, it } from 'vitest';
import type { JsonObject } from '@nodepool/zk-protocol';
import { openApiDocument } from './openapi.js';
import { ref, TEXT, type ApiOperation } from './operation.js';

const shared = { summary: 'x', answer: ref('Node'), handle: () => null };
const OPERATIONS: ApiOperation[] = [
  { ...shared, id: 'listNodes', method: 'GET', path: '/nodes', query: { state: { ...TEXT, description: 'Filter' } } },
  {
    ...{ ...shared, id: 'deleteNode', method: 'DELETE', path: '/nodes/{id}', errors: { 404: 'No such node' } },
    pathParameters: { id: { ...TEXT, description: 'Id' } },
  },
  {
    ...{ ...shared, id: 'getNode', method: 'GET', path: '/nodes/{id}', pathParameters: { id: TEXT } },
    body: { type: 'object' },
  },
];
const document = openApiDocument(
  { operations: OPERATIONS, schemas: { Node: TEXT } },
  { title: 'nodepool-test', version: '1.2.3' },
);
const operationAt = (path: string, method: string) =>
  (document['paths'] as Record<string, Record<string, JsonObject>>)[path]?.[method] ?? expect.fail();

it('lists all methods of a path together', () => {
  expect(Object.keys((document['paths'] as Record<string, object>)['/api/v1/nodes/{id}'] ?? {})).toEqual([
    'delete',
    'get',
  ]);
});

it('requires a token for writes only', () => {
  expect(operationAt('/api/v1/nodes/{id}', 'delete')).toMatchObject({
    security: [{ token: [] }],
    responses: { 401: {}, 403: {}, 404: { description: 'No such node' }, 429: {} },
  });
  const read = operationAt('/api/v1/nodes', 'get');
  expect(read).not.toHaveProperty('security');
  expect(read['responses']).not.toHaveProperty('401');
});

it('describes parameters; those in the path are required', () => {
  expect(operationAt('/api/v1/nodes', 'get')['parameters']).toEqual([
    { name: 'state', in: 'query', description: 'Filter', schema: TEXT },
  ]);
  expect(operationAt('/api/v1/nodes/{id}', 'delete')['parameters']).toEqual([
    { name: 'id', in: 'path', description: 'Id', schema: TEXT, required: true },
  ]);
});

it('includes the schemas of the parts and of errors', () => {
  expect(document['components']).toMatchObject({
    schemas: { Node: TEXT, Problem: { required: expect.arrayContaining(['code', 'detail']) as string[] } },
  });
});
