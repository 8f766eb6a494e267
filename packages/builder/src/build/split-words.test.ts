import { describe, expect, it } from 'vitest';
import { splitWords } from './split-words.js';

describe('a command', () => {
  // What Python's shlex.split makes of the same texts.
  it.each([
    ['disk-image-create', ['disk-image-create']],
    ['  a\t b\n', ['a', 'b']],
    [
      'a $HOME *.raw #x | y > z; & `ls` $(ls) ~',
      ['a', '$HOME', '*.raw', '#x', '|', 'y', '>', 'z;', '&', '`ls`', '$(ls)', '~'],
    ],
    [`'a b'c "d e"f`, ['a bc', 'd ef']],
    [`'' ""`, ['', '']],
    [`'a"b' "a'b"`, ['a"b', "a'b"]],
    [String.raw`a\ b \'c \\ \$x`, ['a b', "'c", '\\', '$x']],
    [String.raw`"a\"b\\c\$d\e" 'a\b'`, ['a"b\\c\\$d\\e', 'a\\b']],
    ['', []],
    ['  ', []],
  ])('%j is split at blanks that are not quoted', (text, words) => {
    expect(splitWords(text)).toEqual(words);
  });

  it.each([`a "b`, `a 'b`, 'a\\', `"a\\"`])('%j is not complete', (text) => {
    expect(splitWords(text)).toBeUndefined();
  });
});
