import { expect, it } from 'vitest';
import { storedParts } from './stored-parts.js';

it('keeps calls of the driver and what they refer to, without texts', () => {
  const reference = (name: string) => ({ $ref: `#/definitions/${name}` });
  const get = { description: 'reads', tags: ['a'], responses: { '200': { schema: reference('Pod') } } };
  const paths = { '/api/v1/namespaces/{namespace}/pods/{name}': { get }, '/api/v1/nodes': { get } };
  const definitions = {
    Pod: { description: 'a pod', properties: { spec: reference('Spec'), description: { type: 'string' } } },
    Spec: { type: 'object' },
    Node: { type: 'object' },
  };

  expect(storedParts({ paths, definitions })).toEqual({
    paths: { '/api/v1/namespaces/{namespace}/pods/{name}': { get: { responses: get.responses } } },
    definitions: {
      Pod: { properties: { spec: reference('Spec'), description: { type: 'string' } } },
      Spec: definitions.Spec,
    },
  });
});
