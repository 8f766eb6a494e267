import { expect, it } from 'vitest';
import { joinParts, orNull, record, ref, TEXT, type ApiOperation } from './operation.js';

const operation = (id: string): ApiOperation => ({
  ...{ id, method: 'GET', path: `/${id}`, summary: id, answer: TEXT, handle: () => null },
});

it('requires every member of a record and allows no other', () => {
  expect(record({ a: TEXT, b: TEXT }, 'Two texts')).toEqual({
    ...{ type: 'object', description: 'Two texts', required: ['a', 'b'] },
    ...{ properties: { a: TEXT, b: TEXT }, additionalProperties: false },
  });
});

it('allows null beside a type, and beside a reference, which has no type of its own', () => {
  expect(orNull({ ...TEXT, description: 'A text' })).toEqual({ type: ['string', 'null'], description: 'A text' });
  expect(orNull(ref('Node'))).toEqual({ anyOf: [{ $ref: '#/components/schemas/Node' }, { type: 'null' }] });
});

it('joins the operations and schemas of several parts', () => {
  const [first, second] = ['one', 'two'].map((id) => ({ operations: [operation(id)], schemas: { [id]: TEXT } }));
  const joined = joinParts(first ?? expect.fail(), second ?? expect.fail());

  expect(joined.operations.map(({ id }) => id)).toEqual(['one', 'two']);
  expect(joined.schemas).toEqual({ one: TEXT, two: TEXT });
});
