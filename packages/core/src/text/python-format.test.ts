import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Json } from '@nodepool/zk-protocol';
import { formatTemplate, templateProblem } from './python-format.js';

const { fields, templates } = JSON.parse(
  readFileSync(new URL('../../test/fixtures/python-formats.json', import.meta.url), 'utf8'),
) as { fields: Record<string, Json>; templates: { template: string; text: string | null }[] };

describe('templates that Python has filled', () => {
  it.each(templates.filter(({ text }) => text !== null))('$template', ({ template, text }) => {
    expect(formatTemplate(template, fields)).toBe(text);
  });

  it.each(templates.filter(({ text }) => text === null))('$template is refused', ({ template }) => {
    expect(() => formatTemplate(template, fields)).toThrow();
  });
});

it('shows what cannot be printed as Python does', () => {
  const text = 'bell\u0007 no-break\u00a0space \u2028';

  expect(formatTemplate('{name!r}', { name: text })).toBe(String.raw`'bell\x07 no-break\xa0space \u2028'`);
});

describe('what a template cannot have', () => {
  const examples = { image_name: 'a', request: { id: 'b', size: 1 } };

  it.each([
    ['{image_nam}', '"{image_nam}" does not exist, expected {image_name}, {request.id}, {request.size}'],
    ['{}', '"{}" is no field, expected {image_name}, {request.id}, {request.size}'],
    ['a{b', 'has a brace without its other half: write "{{" for a brace'],
    ['{image_name:%Y}', '"{image_name:%Y}" is not supported: "%Y" is no format of a text'],
    ['{request.size:g}', '"{request.size:g}" is not supported: "g" is no format of a number'],
    [
      '{image_name:>{request.size}}',
      '"{image_name:>{request.size}}" is not supported: a format specification holds no fields',
    ],
    [
      '{image_name:>99999999999}',
      '"{image_name:>99999999999}" is not supported: ">99999999999" is no format of a text',
    ],
    ['{image_name!x}', '"!x" is no conversion, expected "!s", "!r" or "!a"'],
    ['{image_name:>10}', undefined],
  ])('%s', (template, problem) => {
    expect(templateProblem(template, examples)).toBe(problem);
  });
});
