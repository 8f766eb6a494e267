import type { JsonObject } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { assertCompiles, schemaFaults } from './schema-validator.js';

const CHOICE: JsonObject = {
  anyOf: [
    { type: 'object', required: ['id'], properties: { id: { type: 'integer' } } },
    { type: 'array', items: { type: 'string' } },
  ],
};

it('reports the faults of the intended alternative, or only the choice if there is none', () => {
  expect(schemaFaults(CHOICE, { id: 'x' }).map(({ error, path }) => [error.keyword, path])).toEqual([['type', ['id']]]);
  expect(schemaFaults(CHOICE, [1]).map(({ error, path }) => [error.keyword, path])).toEqual([['type', [0]]]);
  expect(schemaFaults(CHOICE, 5).map(({ error }) => error.keyword)).toEqual(['anyOf']);
});

it('reports no fault in a valid value', () => {
  expect(schemaFaults(CHOICE, { id: 5 })).toEqual([]);
});

it('names the position of an error in the schema of a driver', () => {
  expect(() => assertCompiles('x', { properties: { a: { type: 'text' } } })).toThrow(
    /driver "x": its configuration schema is not valid: properties.a.type: expected /,
  );
  expect(() => assertCompiles('x', { properties: { a: { 'x-unknown': 1 } } })).toThrow(/not valid: .*x-unknown/);
  expect(() => assertCompiles('x', { properties: { a: { 'x-secret': true } } })).not.toThrow();
});
