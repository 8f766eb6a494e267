import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseSource } from './source-document.js';
import { substituteEnvironment } from './substitute.js';

const parse = (text: string, env: Record<string, string> = {}) =>
  parseSource('f', text, substituteEnvironment(text, env));

interface Substitution {
  env: Record<string, string>;
  in: string;
  out: string;
}
const { environmentSubstitution } = JSON.parse(
  readFileSync(new URL('../../test/fixtures/config-conversions.json', import.meta.url), 'utf8'),
) as { environmentSubstitution: Substitution[] };

describe('substitution of the environment', () => {
  it.each(environmentSubstitution)('turns $in into $out', ({ env, in: written, out }) => {
    expect(substituteEnvironment(written, env).text).toBe(out);
  });

  it('can insert YAML, and keeps positions after it', () => {
    const document = parse('a: %(NODEPOOL_MAP)\nb: 2\n', { NODEPOOL_MAP: '\n  x: 1\n  y: 2' });

    expect(document.value).toEqual({ a: { x: 1, y: 2 }, b: 2 });
    expect(document.positionOf(['b'])).toEqual({ file: 'f', line: 2, column: 4 });
    expect(document.positionOf(['a', 'y'])).toMatchObject({ line: 1, column: 4 });
    expect(document.isFromEnvironment(['a', 'y'])).toBe(true);
    expect(document.isFromEnvironment(['b'])).toBe(false);
  });
});

describe('line ends', () => {
  const CODES = { CR: '\r', 'CR LF': '\r\n', NEL: '\u0085', LS: '\u2028', PS: '\u2029' };

  it.each(Object.entries(CODES))(
    'reads lines that end with %s as the reference does, and counts them',
    (_name, end) => {
      const document = parse(['# labels', 'a: %(NODEPOOL_A)', 'b:', '  - 1', '  - "x"', ''].join(end), {
        NODEPOOL_A: `{c: 1,${end} d: 2}`,
      });

      expect(document.problems).toEqual([]);
      expect(document.value).toEqual({ a: { c: 1, d: 2 }, b: [1, 'x'] });
      expect(document.positionOf(['b', 1])).toEqual({ file: 'f', line: 5, column: 5 });
    },
  );

  it.each([CODES.CR, CODES['CR LF'], CODES.NEL])('folds and keeps lines in text alike: %j', (end) => {
    const lines = [
      'a: >',
      '  one',
      '  two',
      '',
      '  three',
      'b: |',
      '  one',
      '  two',
      'c: "one',
      '  two"',
      'd: one',
      '  two',
    ];

    expect(parse(lines.join(end)).value).toEqual({
      a: 'one two\nthree\n',
      b: 'one\ntwo\n',
      c: 'one two',
      d: 'one two',
    });
  });

  it('reports the line of an error', () => {
    expect(parse('a: 1\rb: [\rc: 2\r').problems).toMatchObject([{ position: { line: 3, column: 1 } }]);
  });
});

describe('plain scalars', () => {
  it.each([
    ['yes', true],
    ['Off', false],
    ['y', 'y'],
    ['N', 'N'],
    ['~', null],
    ['', null],
    ['0755', 493],
    ['0o17', '0o17'],
    ['09', '09'],
    ['0x1F', 31],
    ['0b101', 5],
    ['-1_000', -1000],
    ['1:30', 90],
    ['-1:00:00', -3600],
    ['1:30.5', 90.5],
    ['1.5', 1.5],
    ['1.', 1],
    ['.5', 0.5],
    ['1.0e+3', 1000],
    ['1e3', '1e3'],
    ['.inf', Infinity],
    ['2026-11-21', '2026-11-21'],
    ['1.2.3', '1.2.3'],
    ['"yes"', 'yes'],
    ["'12'", '12'],
    ['!!str 12', '12'],
    ['=', '='],
  ])('%s reads as %j', (text, value) => {
    expect(parse(`k: ${text}`)).toMatchObject({ value: { k: value }, problems: [] });
  });
});

describe('structure', () => {
  it('resolves aliases and merge keys, own keys first', () => {
    const document = parse('base: &b {a: 1, c: 1}\nx:\n  <<: *b\n  a: 2\ny: *b\n');

    expect(document.value).toMatchObject({ x: { a: 2, c: 1 }, y: { a: 1, c: 1 } });
    expect(document.positionOf(['x', 'c'])).toMatchObject({ line: 1, column: 20 });
    expect(document.positionOf(['y', 'a'])).toMatchObject({ line: 1, column: 14 });
  });

  it('warns of a duplicate key and uses the last one', () => {
    const document = parse('a: 1\na: 2\n');

    expect(document.value).toEqual({ a: 2 });
    expect(document.problems).toEqual([
      expect.objectContaining({ severity: 'warning', position: { file: 'f', line: 2, column: 1 } }),
    ]);
  });

  it.each([
    ['{a: b}: 1', 'this key is a list or a map, expected text'],
    ['a: *nowhere', /nowhere/],
    ['a: &x [*x]', 'the alias *x contains itself'],
    ['<<: 1', '"<<" takes in the keys of maps, expected a map or a list of maps'],
    ['a: !!python/object:os.system x', /YAML parsing failed: .*tag/],
    ['a:\n\u00a0 - b: 1\n    c: 2\n', /this line begins with the character U\+00A0, which only looks like a space/],
    ['a: 1\n---\nb: 2', /^a second document begins here/],
    ['a: %(NODEPOOL_UNSET)', /^the environment variable NODEPOOL_UNSET is not set/],
    ['a: {b: %(HOME)}', /^%\(HOME\) has no value: only environment variables whose names begin with NODEPOOL_/],
  ])('%s is an error', (text, message) => {
    expect(parse(text).problems).toContainEqual(
      expect.objectContaining({
        severity: 'error',
        message: typeof message === 'string' ? message : (expect.stringMatching(message) as string),
      }),
    );
  });

  it('accepts a closing bracket at the margin', () => {
    expect(parse('labels: [\n  a\n]\n')).toMatchObject({ value: { labels: ['a'] }, problems: [] });
  });

  it('returns values as written, after substitution', () => {
    const document = parse('a: 0755\nb: "1"\nc: &x 08\nd: [*x]\ne: %(NODEPOOL_E)\n', { NODEPOOL_E: '1e3' });

    expect(document.scalarAt(['a'])).toEqual({ text: '0755', isPlain: true });
    expect(document.scalarAt(['b'])).toEqual({ text: '1', isPlain: false });
    expect(document.scalarAt(['d', 0])).toEqual({ text: '08', isPlain: true });
    expect(document.scalarAt(['e'])).toEqual({ text: '1e3', isPlain: true });
    expect(document.scalarAt(['d'])).toBeUndefined();
    expect(document.scalarAt(['a', 'b'])).toBeUndefined();
  });

  it('distinguishes the position of an alias from that of its value', () => {
    const document = parse('base: &base {name: x}\nlist:\n- *base\n- <<: *base\n');

    expect(document.positionOf(['list', 0, 'name'])).toMatchObject({ line: 1, column: 20 });
    expect(document.ownPositionOf(['list', 0, 'name'])).toMatchObject({ line: 3, column: 3 });
    expect(document.ownPositionOf(['list', 1, 'name'])).toMatchObject({ line: 4, column: 3 });
    expect(document.ownPositionOf(['base', 'name'])).toMatchObject({ line: 1, column: 20 });
  });

  it('falls back to the position of the nearest ancestor', () => {
    const document = parse('\na:\n  b: 1\n');

    expect(document.positionOf(['a', 'c', 0])).toMatchObject({ line: 3, column: 3 });
    expect(document.keyPositionOf(['a'])).toMatchObject({ line: 2, column: 1 });
  });
});
