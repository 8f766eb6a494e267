import type { ErrorObject } from 'ajv';
import type { Json, JsonObject } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import type { ConfigMode } from '../contract/config.js';
import { isRequiredBy, readingOf, type Fault, type Reading } from './lenient-values.js';
import { schemaFaults } from './schema-validator.js';

type Place = Partial<Omit<Fault, 'error'>>;

/** Reads the value of one key with this schema. */
function read(property: JsonObject, data: Json, mode: ConfigMode = 'service', place: Place = {}): Reading | undefined {
  const [fault] = schemaFaults({ type: 'object', properties: { key: property } }, { key: data });
  const error = fault?.error as ErrorObject;
  return readingOf(
    { error, written: undefined, isRequired: false, isListed: false, isOfProvider: false, ...place },
    mode,
  );
}

const integer = { type: 'integer' };
const number = { type: 'number' };
const text = { type: 'string' };
const flag = { type: 'boolean' };
const ABSENT = { value: undefined };

describe('values that a service of Nodepool (Python) accepts', () => {
  it.each<[string, JsonObject, Json, Reading]>([
    ['a quoted integer', integer, ' 1_000 ', { value: 1000 }],
    ['a quoted number', number, '1.5e3', { value: 1500 }],
    ['a fraction as an integer', integer, 1.5, { value: 1.5, meaning: 'taken as it is' }],
    ['a text as a flag', flag, 'no', { value: true }],
    ['an empty text as a flag', flag, '', { value: false }],
    ['a number as a flag', flag, 0, { value: false }],
    ['a number as a text', text, 22.04, { value: '22.04' }],
    ['a boolean as a text', text, true, { value: 'True' }],
    ['nothing as a text', text, null, ABSENT],
    ['nothing as a flag', flag, null, { value: false }],
    ['nothing as a list of texts', { type: 'array', items: text }, null, ABSENT],
    ['one of several kinds', { oneOf: [integer, flag] }, '7', { value: true }],
    ['an empty text', { ...text, minLength: 1 }, '', ABSENT],
  ])('%s', (_name, property, data, reading) => {
    expect(read(property, data)).toEqual(reading);
  });

  it('keep their written text if the schema requires it', () => {
    const written = { text: '0755', isPlain: true };

    expect(read({ ...text, 'x-as-written': true }, 493, 'service', { written })).toEqual({
      value: '0755',
      meaning: 'taken as the text that stands here',
    });
  });

  it.each<[string, JsonObject, Json, Place]>([
    ['a list as a number', integer, [], {}],
    ['a word as a number', integer, 'many', {}],
    ['a fraction in quotes as an integer', integer, '1.5', {}],
    ['nothing where a key is required', text, null, { isRequired: true }],
    ['nothing in a list', text, null, { isListed: true }],
    ['an empty text where a key is required', { ...text, minLength: 1 }, '', { isRequired: true }],
    ['nothing instead of a section with required keys', { type: 'object', required: ['a'] }, null, {}],
    ['nothing instead of what a service cannot do without', { type: 'array', 'x-loss': 'x' }, null, {}],
    ['nothing instead of a list of maps', { type: 'array', items: { type: 'object' } }, null, { isOfProvider: true }],
    ['another fault', { enum: ['a'] }, 'b', {}],
  ])('is not %s', (_name, property, data, place) => {
    expect(read(property, data, 'service', place)).toBeUndefined();
  });
});

describe('values that the validator of Nodepool (Python) accepts', () => {
  it('include booleans as integers, and numeric text if the schema allows it, without a warning', () => {
    expect(read(integer, true, 'validate')).toEqual({ value: 1, isUsual: true });
    expect(read({ ...number, 'x-numeric-text': true }, '1.5', 'validate')).toEqual({ value: 1.5, isUsual: true });
  });

  it.each<[string, JsonObject, Json]>([
    ['a quoted integer', integer, '1'],
    ['a number as a text', text, 22.04],
    ['nothing', text, null],
  ])('is not %s', (_name, property, data) => {
    expect(read(property, data, 'validate')).toBeUndefined();
  });

  it('include numbers outside a range that only this schema has', () => {
    const property = { ...integer, minimum: 1, 'x-tolerates': { minimum: 'no limit', not: 'unused' } };

    expect(read(property, 0, 'validate')).toEqual({ value: 0, meaning: 'no limit' });
    expect(read(property, 0)).toEqual({ value: 0, meaning: 'no limit' });
  });
});

describe('isRequiredBy', () => {
  const entry = { type: 'object', required: ['name'], properties: { name: text, other: text } };
  const schema = { required: ['list'], properties: { list: { items: entry } } };

  it.each([
    ['#/properties/list/type', 'list', true],
    ['#/properties/list/items/properties/name/type', 'name', true],
    ['#/properties/list/items/properties/other/type', 'other', false],
    ['#/required', 'list', false],
  ])('%s: %s', (schemaPath, key, expected) => {
    expect(isRequiredBy(schema, schemaPath, key)).toBe(expected);
  });
});
