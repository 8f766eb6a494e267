import { parseDocument } from 'yaml';
import { expect, it } from 'vitest';
import { YAML_SCALARS } from './lenient-layout.js';
import { YamlConverter } from './yaml-values.js';

function convert(text: string) {
  const problems: string[] = [];
  const document = parseDocument(text, { schema: 'failsafe', customTags: YAML_SCALARS, uniqueKeys: false });
  const converter = new YamlConverter(new Map(), (_node, path, message, severity) =>
    problems.push(`${severity} ${path.join('.')}: ${message}`),
  );
  return { value: converter.convert(document.contents, []), problems };
}

it('merges maps, where own keys and the first source win', () => {
  const { value, problems } = convert('a: &a {x: 1, y: 1}\nb: &b {x: 2, z: 2}\nc: {<<: [*a, *b], y: 3}\n');

  expect(value).toMatchObject({ c: { x: 1, y: 3, z: 2 } });
  expect(problems).toEqual([]);
});

it.each([
  ['a: &a [*a]', 'error a.0: the alias *a contains itself'],
  ['a: *b', 'error a: the alias *b refers to no anchor before it'],
  ['a: {<<: 5}', 'error a: "<<" takes in the keys of maps, expected a map or a list of maps'],
  ['a: 1\na: 2', 'warning : the key "a" is given twice, the last one counts'],
  ['? [a]\n: 1', 'error : this key is a list or a map, expected text'],
  ['5: a', 'warning : this key is a number, taken as the text "5": put it in quotes'],
])('reports %j', (text, problem) => {
  expect(convert(text).problems).toEqual([problem]);
});

it('keeps a key that is also a built-in property of objects', () => {
  const { value } = convert('__proto__: {polluted: true}');

  expect(Object.keys(value as object)).toEqual(['__proto__']);
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
});
