import { describe, expect, it } from 'vitest';
import { RecordError } from './errors.js';
import { amounts, copyWith, keepUnknown, number, object, readBody, seconds, text, textOr, texts } from './fields.js';
import { textOrObject, textsOrOne, timeMs, toBuffer, type Value } from './fields.js';
import type { JsonObject } from './types.js';

const read = (body: string, take: (raw: JsonObject) => unknown) => readBody('node', '1', Buffer.from(body), take);

describe('a field', () => {
  it.each<[string, (value: Value, key: string) => unknown, Value, unknown]>([
    ['text', text, undefined, null],
    ['textOr', (value, key) => textOr(value, key, 'zuul'), undefined, 'zuul'],
    ['textOr', (value, key) => textOr(value, key, 'zuul'), null, null],
    ['texts', texts, null, []],
    ['textsOrOne', textsOrOne, 'small', ['small']],
    ['textsOrOne', textsOrOne, '', []],
    ['object', object, {}, {}],
    ['textOrObject', textOrObject, 'id', 'id'],
    ['amounts', amounts, { cores: 4 }, { cores: 4 }],
    ['timeMs', timeMs, 1.5, 1500],
  ])('is read by %s (%#)', (_name, decode, value, expected) => {
    expect(decode(value, 'key')).toEqual(expected);
  });

  it.each<[string, (value: Value, key: string) => unknown, string, string]>([
    ['text', text, '5', 'a string or null, it is 5'],
    ['texts', texts, '["a", 1]', 'a list of strings, it is ["a",1]'],
    ['number', number, '"5"', 'a number or null, it is "5"'],
    ['number', number, 'NaN', 'a number or null, it is null'],
    ['object', object, '[]', 'an object or null, it is []'],
    ['textOrObject', textOrObject, '[]', 'a string, an object or null, it is []'],
    ['amounts', amounts, '{"cores": "4"}', 'an object of numbers or null, it is {"cores":"4"}'],
  ])('of the wrong type is rejected by %s (%#)', (_name, decode, json, problem) => {
    expect(() => read(`{"key": ${json}}`, (raw) => decode(raw.key, 'key'))).toThrow(
      new RecordError('node 1', `"key" should be ${problem}`, { key: 'key' }),
    );
  });
});

describe('a body', () => {
  it.each([
    ['not json', 'its body (8 bytes) is not JSON'],
    ['[1]', 'its body is JSON but not an object'],
    ['null', 'its body is JSON but not an object'],
  ])('of %j is rejected', (body, problem) => {
    expect(() => read(body, (raw) => raw)).toThrow(`cannot read node 1: ${problem}`);
  });

  it('is not a record if it is empty', () => {
    expect(read('', (raw) => raw)).toBeUndefined();
  });

  it('passes on errors other than a wrong type', () => {
    const defect = new TypeError('a defect');

    expect(() =>
      read('{}', () => {
        throw defect;
      }),
    ).toThrow(defect);
  });

  it('keeps unknown keys, even one that names the prototype', () => {
    const raw = JSON.parse('{"state": "ready", "extra": 1, "__proto__": {"a": 2}}') as JsonObject;
    const body: JsonObject = { state: 'used' };

    keepUnknown(body, raw, new Set(['state']));

    expect(toBuffer(body, raw).toString()).toBe('{"state":"used","extra":1,"__proto__":{"a":2}}');
  });
});

it('writes an unchanged time with the digits that were read', () => {
  const asRead = 1_700_000_000.123_456_7;

  expect(seconds(asRead * 1000, asRead)).toBe(asRead);
  expect(seconds(5000, asRead)).toBe(5);
});

it('copies a record with changes, except undefined ones', () => {
  expect(copyWith<{ a: number; b: number | undefined }>({ a: 1, b: 2 }, { a: 3, b: undefined })).toEqual({
    a: 3,
    b: 2,
  });
});
