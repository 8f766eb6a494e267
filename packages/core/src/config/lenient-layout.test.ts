import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Json } from '@nodepool/zk-protocol';
import { parse as parseYaml } from 'yaml';
import { parseSource } from './source-document.js';
import { substituteEnvironment } from './substitute.js';
import { YAML_SCALARS } from './lenient-layout.js';

const parse = (text: string, env: Record<string, string> = {}) =>
  parseSource('f', text, substituteEnvironment(text, env));

const { documents } = JSON.parse(
  readFileSync(new URL('../../test/fixtures/pyyaml-documents.json', import.meta.url), 'utf8'),
) as { documents: { text: string; value: Json }[] };

describe('documents accepted by PyYAML', () => {
  it.each(documents)('number %#: $text', ({ text, value }) => {
    const document = parse(text);

    expect(document.problems.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(document.value).toEqual(value);
  });
});

const places = (text: string) =>
  parse(text).problems.map(({ severity, position, message }) => [severity, position?.line, position?.column, message]);

describe('layouts that only PyYAML accepts', () => {
  const MARGIN = 'this line continues a value and begins no further right than the key of that value: indent it more';
  const COMMENT = 'this comment begins right behind another token: put a space before the "#"';

  it('are warnings at the line that is too far left', () => {
    expect(places('networks: [one,\ntwo,\n  three\n]\n')).toEqual([['warning', 2, 1, MARGIN]]);
    expect(places('- a: "x\n   y"\n')).toEqual([]);
    expect(places('- a: "x\ny"\n')).toEqual([['warning', 2, 1, MARGIN]]);
  });

  it('are warnings at the comment that needs a space', () => {
    expect(places('a: [1]#c\nb: {}# d\n')).toEqual([
      ['warning', 1, 7, COMMENT],
      ['warning', 2, 6, COMMENT],
    ]);
  });

  it('preserve positions and values from the environment', () => {
    const document = parse('a: [1,\n%(NODEPOOL_A), x]#c\nb: 2\n', { NODEPOOL_A: '77777' });

    expect(document.value).toEqual({ a: [1, 77777, 'x'], b: 2 });
    expect(document.positionOf(['a', 1])).toEqual({ file: 'f', line: 2, column: 1 });
    expect(document.positionOf(['a', 2])).toEqual({ file: 'f', line: 2, column: 16 });
    expect(document.positionOf(['b'])).toEqual({ file: 'f', line: 3, column: 4 });
    expect(document.isFromEnvironment(['a', 1])).toBe(true);
    expect(document.isFromEnvironment(['a', 2])).toBe(false);
  });

  it('do not hide a bracket that is never closed', () => {
    expect(places('a: [1,\n2]\nb: [x\nc: 1\n').filter(([severity]) => severity === 'error')).not.toEqual([]);
  });
});

describe('keys that are not text', () => {
  it('are named as in JSON, with a warning at the key', () => {
    const document = parse('a:\n  8: x\n  on: 1\n  ~: z\n  1.50: w\n');

    expect(document.value).toEqual({ a: { 8: 'x', true: 1, null: 'z', 1.5: 'w' } });
    expect(document.positionOf(['a', 'true'])).toMatchObject({ line: 3, column: 7 });
    expect(document.problems.map(({ severity, position, message }) => [severity, position?.line, message])).toEqual([
      ['warning', 2, 'this key is a number, taken as the text "8": put it in quotes'],
      ['warning', 3, 'this key is a boolean, taken as the text "true": put it in quotes'],
      ['warning', 4, 'this key is nothing, taken as the text "null": put it in quotes'],
      ['warning', 5, 'this key is a number, taken as the text "1.5": put it in quotes'],
    ]);
  });

  it('are errors if they are lists or maps', () => {
    expect(places('? [a]\n: b\n')).toEqual([['error', 1, 3, 'this key is a list or a map, expected text']]);
  });
});

const read = (text: string): unknown => parseYaml(text, { schema: 'failsafe', customTags: YAML_SCALARS });

it.each([
  ['0755', 493],
  ['0o17', '0o17'],
  ['0b1_01', 5],
  ['-0x1F', -31],
  ['1_000', 1_000],
  ['1:30', 90],
  ['1:30.5', 90.5],
  ['.5', 0.5],
  ['1e3', '1e3'],
  ['1.0e+3', 1_000],
  ['-.inf', -Infinity],
  ['.NaN', Number.NaN],
])('reads the number %s as PyYAML does', (text, value) => {
  expect(read(text)).toEqual(value);
});

it.each([
  ['yes', true],
  ['Off', false],
  ['y', 'y'],
  ['~', null],
  ['2024-01-31', '2024-01-31'],
])('reads %s as PyYAML does, with dates as text', (text, value) => {
  expect(read(text)).toEqual(value);
});
