import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { shellWord } from './shell-word.js';

it.each([
  '',
  'plain',
  'a b',
  "it's",
  '$HOME',
  '`id`',
  '*',
  '~',
  '-n',
  'a=b',
  '"',
  '\\',
  'ä',
  'two\nlines',
  ';',
  '#x',
  '!',
])('hands %j to a shell as it is', (word) => {
  expect(execFileSync('sh', ['-c', `printf %s ${shellWord(word)}`]).toString()).toBe(word);
});
