import { expect, it } from 'vitest';
import { isMap, listOf, mapOf, mapsOf, numberOf, textOf, textsOf } from './json-values.js';

it('read a value of their type', () => {
  expect([isMap({ a: 1 }), mapOf({ a: 1 }), listOf([1, null])]).toEqual([true, { a: 1 }, [1, null]]);
  expect([textOf('a'), numberOf(0)]).toEqual(['a', 0]);
  expect([mapsOf([{ a: 1 }, 'b', null, []]), textsOf(['a', 1, null])]).toEqual([[{ a: 1 }], ['a']]);
});

it.each([undefined, null, [], 1, 'a', { a: 1 }])('take %j as missing where it is of another type', (value) => {
  const isList = Array.isArray(value);
  const isObject = typeof value === 'object' && value !== null && !isList;

  expect([isMap(value), mapOf(value)]).toEqual(isObject ? [true, { a: 1 }] : [false, {}]);
  expect([listOf(value), mapsOf(value), textsOf(value)]).toEqual([[], [], []]);
  expect(textOf(value)).toBe(typeof value === 'string' ? value : undefined);
  expect(numberOf(value)).toBe(typeof value === 'number' ? value : undefined);
});
