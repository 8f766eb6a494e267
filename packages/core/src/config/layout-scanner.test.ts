import { describe, expect, it } from 'vitest';
import { LayoutScanner } from './layout-scanner.js';

/** The text with paddings shown as `·`. */
function padded(text: string): string | undefined {
  const paddings = new LayoutScanner(text).scan();
  return paddings?.reduceRight((all, { offset, spaces }) => {
    return all.slice(0, offset) + '·'.repeat(spaces) + all.slice(offset);
  }, text);
}

const kinds = (text: string) => new LayoutScanner(text).scan()?.map(({ kind }) => kind);

describe('a layout that YAML allows', () => {
  it.each([
    ['nothing', ''],
    ['a flow collection that continues to the right', 'a: [1,\n 2, {b: c}]\n'],
    ['a closing bracket right of its key', 'a: [\n  1\n  ]\n'],
    ['quotes in plain text, and plain text in quotes', 'a: it\'s "x"\nb: "it\'s # [ {"\n'],
    ['escaped quotes', "a: \"\\\" [\"\nb: 'it''s ['\n"],
    ['a block text with brackets and quotes', 'a: |\n  [ "\n\n  # no comment\nb: >-\n  \'\nc: 1\n'],
    ['plain text over several lines', 'a: one\n  - two\n  [three\nb: 1\n'],
    ['a comment behind a space', 'a: [1] # b\n# c\n'],
    ['a hash within a word', 'a: x#y\nb: [x#y]\n'],
    ['anchors, aliases and tags', 'a: &x [1]\nb: *x\nc: !!str 1\n'],
    ['several documents', '%YAML 1.1\n---\na: 1\n...\n---\nb: 2\n'],
    ['keys in nested lists', '- - a: 1\n    b: [1,\n      2]\n'],
  ])('needs nothing: %s', (_name, text) => {
    expect(padded(text)).toBe(text);
  });
});

describe('a layout that only PyYAML accepts', () => {
  it.each([
    ['a list at the margin', 'a: [1,\n2]\n', 'a: [1,\n····2]\n'],
    ['a map at the margin of its key', 'b:\n  a: {x: 1,\n  y: 2}\n', 'b:\n  a: {x: 1,\n  ······y: 2}\n'],
    ['a quoted text at the margin', 'a: "x\ny"\n', 'a: "x\n····y"\n'],
    ['a quoted key stays the key', '"a": [1,\n2]\n', '"a": [1,\n······2]\n'],
    ['a line left of the key', '- b:\n    - [1,\n  2]\n', '- b:\n    - [1,\n  ·······2]\n'],
    ['each line by itself', 'a: [1,\n2,\n   3,\n4]\n', 'a: [1,\n····2,\n   3,\n····4]\n'],
    ['plain text in a list that continues at the margin', 'a: [one\ntwo]\n', 'a: [one\n····two]\n'],
  ])('is indented: %s', (_name, text, expected) => {
    expect(padded(text)).toBe(expected);
    expect(new Set(kinds(text))).toEqual(new Set(['margin']));
  });

  it('gets a space before a comment behind another token', () => {
    expect(padded('a: [1]#c\nb: "x"# d\n')).toBe('a: [1]·#c\nb: "x"·# d\n');
    expect(kinds('a: [1]#c\n')).toEqual(['comment']);
  });

  it('is not reported if YAML allows it but the parser needs the space', () => {
    expect(padded('a:\n  b: [\n    1,\n  ]\n')).toBe('a:\n  b: [\n    1,\n  ······]\n');
    expect(kinds('a:\n  b: [\n    1,\n  ]\n')).toEqual(['none']);
    expect(kinds('[1,\n# c\n2]\n')).toEqual(['none']);
  });
});

it.each([
  ['a bracket that is never closed', 'a: [1\nb: 2\n'],
  ['a bracket that is closed twice', 'a: [1]]\n'],
  ['a quote that is never closed', 'a: "x\n'],
  ['a document that ends within a bracket', 'a: [1\n---\n]\n'],
  ['a document that ends within a quoted text', 'a: "x\n...\n"\n'],
])('is given up: %s', (_name, text) => {
  expect(padded(text)).toBeUndefined();
});
