import { parse } from 'yaml';
import { expect, it } from 'vitest';
import { YAML_SCALARS } from './yaml-scalars.js';

const read = (text: string): unknown => parse(text, { schema: 'failsafe', customTags: YAML_SCALARS });

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
