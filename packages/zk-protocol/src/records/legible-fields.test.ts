import { expect, it } from 'vitest';
import { legibleFields } from './legible-fields.js';

const fieldsOf = (text: string) => legibleFields(Buffer.from(text));

it('reads all fields of an object, whatever their types', () => {
  expect(fieldsOf('{"provider": 7, "slot": 1}')).toEqual({ provider: 7, slot: 1 });
});

it.each([
  ['{"provider": "rack", "slot": 1', { provider: 'rack' }],
  ['{"provider": "rack", "attributes": {"provider": "other", "a": 1', { provider: 'rack' }],
  ['{"comment": "a \\", {", "slot": 1, "hostname": "h', { comment: 'a ", {', slot: 1 }],
  ['{"labels": ["a", "b"], "slot', { labels: ['a', 'b'] }],
])('reads the fields before the end of %s', (text, fields) => {
  expect(fieldsOf(text)).toEqual(fields);
});

it.each(['', '{"pro', 'not JSON, "slot": 1, ', '[]', '7', '{"a": x, "slot": 1, "b', '{"__proto__": {"slot": 1'])(
  'reads nothing of %s',
  (text) => {
    expect(Object.keys(fieldsOf(text))).toEqual([]);
  },
);
