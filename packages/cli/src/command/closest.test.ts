import { expect, it } from 'vitest';
import { closestWord } from './closest.js';

it.each([
  ['lits', ['list', 'hold'], 'list'],
  ['--fromat', ['--format', '--fields'], '--format'],
  ['hol', ['list', 'hold'], 'hold'],
  ['xyz', ['list', 'hold'], undefined],
  ['', ['list'], undefined],
])('takes %s among %j for %s', (word, known, meant) => {
  expect(closestWord(word, known)).toBe(meant);
});
