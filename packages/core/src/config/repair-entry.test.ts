import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@nodepool/zk-protocol';
import { composeProviderSchema } from './compose-schema.js';
import { PLACEHOLDER, repairEntry } from './repair-entry.js';
import { schemaFaults } from './schema-validator.js';

const text = { type: 'string', minLength: 1 };
const schema = composeProviderSchema({
  type: 'object',
  required: ['cloud'],
  properties: {
    cloud: text,
    rate: { type: 'number', minimum: 2 },
    kind: { enum: ['a', 'b'] },
    images: {
      type: 'array',
      items: {
        type: 'object',
        required: ['name', 'id'],
        properties: { name: text, id: { pattern: '^x', type: 'string' } },
      },
    },
    pools: {
      type: 'array',
      items: {
        type: 'object',
        required: ['name'],
        properties: {
          labels: {
            type: 'array',
            items: {
              type: 'object',
              required: ['name'],
              properties: { name: text, old: text, new: text, ram: { type: 'integer' }, flavor: text },
              oneOf: [{ required: ['old'] }, { required: ['new'] }],
              anyOf: [{ required: ['ram'] }, { required: ['flavor'] }],
            },
          },
        },
      },
    },
  },
});

const good: JsonObject = { name: 'l', old: 'x', ram: 1 };

describe('repairEntry', () => {
  it.each<[string, JsonObject, JsonObject]>([
    ['an unknown key', { name: 'p', cloud: 'c', nonsense: 1 }, { name: 'p', cloud: 'c' }],
    ['a wrong value', { name: 'p', cloud: 'c', rate: 'fast' }, { name: 'p', cloud: 'c' }],
    ['a missing key', { name: 'p' }, { name: 'p', cloud: PLACEHOLDER }],
    ['a wrong value that must be there', { name: 5, cloud: 'c' }, { name: PLACEHOLDER, cloud: 'c' }],
    [
      'both of two that exclude each other',
      { name: 'p', cloud: 'c', pools: [{ name: 'm', labels: [{ ...good, new: 'y' }] }] },
      { name: 'p', cloud: 'c', pools: [{ name: 'm', labels: [good] }] },
    ],
    [
      'neither of two',
      { name: 'p', cloud: 'c', pools: [{ name: 'm', labels: [{ name: 'l', old: 'x' }] }] },
      { name: 'p', cloud: 'c', pools: [{ name: 'm', labels: [good] }] },
    ],
    [
      'an entry of a list that cannot be completed',
      { name: 'p', cloud: 'c', images: [{ name: 'i' }, { name: 'j', id: 'x1' }] },
      { name: 'p', cloud: 'c', images: [{ name: 'j', id: 'x1' }] },
    ],
  ])('repairs %s', (_name, entry, expected) => {
    const before = structuredClone(entry);

    const repaired = repairEntry(entry, schema);

    expect(repaired?.entry).toEqual(expected);
    expect(schemaFaults(schema, repaired?.entry ?? null)).toEqual([]);
    expect(entry).toEqual(before);
  });

  it('maps paths to those before the removal of list entries', () => {
    const labels = [{ ...good, name: 'a' }, 7, { ...good, name: 'b' }, null, { ...good, name: 'c' }];
    const repaired = repairEntry({ name: 'p', cloud: 'c', pools: ['x', { name: 'm', labels }] }, schema);

    expect(repaired?.originalPath(['pools', 0, 'labels', 1, 'name'])).toEqual(['pools', 1, 'labels', 2, 'name']);
    expect(repaired?.originalPath(['pools', 0, 'labels', 2])).toEqual(['pools', 1, 'labels', 4]);
    expect(repaired?.originalPath(['rate'])).toEqual(['rate']);
  });

  it('recognizes messages about removed and inserted values', () => {
    const repaired = repairEntry({ name: 'p', images: [{ name: 'i' }] }, schema);

    expect(repaired?.isAboutRepair(`cloud "${PLACEHOLDER}" is not defined`)).toBe(true);
    expect(repaired?.isAboutRepair('image "i" is not defined')).toBe(true);
    expect(repaired?.isAboutRepair('image "j" is not defined')).toBe(false);
  });

  it('does not expand aliases', () => {
    let bomb: JsonObject = { name: 'x', wrong: 1 };
    for (let depth = 0; depth < 60; depth++) bomb = { name: 'x', a: bomb, b: bomb };

    expect(repairEntry({ name: 'p', cloud: 'c', 'node-attributes': bomb, rate: 'fast' }, schema)).toBeDefined();
  });

  it('returns undefined if a repair is impossible', () => {
    const strict = { type: 'object', minProperties: 9 };

    expect(repairEntry({ name: 'p' }, strict)).toBeUndefined();
  });
});
