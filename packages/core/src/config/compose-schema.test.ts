import { expect, it } from 'vitest';
import { closeSchema, composeProviderSchema } from './compose-schema.js';

it('adds the common keys of providers and pools unless the driver overrides them', () => {
  const pools = { type: 'array', items: { type: 'object', properties: { labels: {}, priority: { const: 1 } } } };
  const schema = composeProviderSchema({ type: 'object', required: ['region'], properties: { region: {}, pools } });

  expect(schema['required']).toEqual(['name', 'region']);
  expect(schema).toMatchObject({
    properties: {
      name: { type: 'string' },
      'max-concurrency': { default: -1 },
      pools: { items: { properties: { 'max-servers': { type: 'integer' }, priority: { const: 1 }, labels: {} } } },
    },
  });
});

it('adds no pools for a driver without pools', () => {
  expect(composeProviderSchema({ type: 'object' })).not.toHaveProperty('properties.pools');
});

it('forbids unknown keys in every map without `additionalProperties`', () => {
  const closed = closeSchema({
    properties: {
      list: { items: { properties: { a: {} } } },
      free: { properties: { a: {} }, additionalProperties: true },
      byName: { additionalProperties: { properties: { a: {} } } },
    },
    patternProperties: { '^x-': { properties: { a: {} } } },
    oneOf: [{ properties: { a: {} } }],
  });

  expect(closed).toEqual({
    properties: {
      list: { items: { properties: { a: {} }, additionalProperties: false } },
      free: { properties: { a: {} }, additionalProperties: true },
      byName: { additionalProperties: { properties: { a: {} }, additionalProperties: false } },
    },
    patternProperties: { '^x-': { properties: { a: {} }, additionalProperties: false } },
    oneOf: [{ properties: { a: {} } }],
    additionalProperties: false,
  });
});
