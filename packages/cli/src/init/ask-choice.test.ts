import { expect, it } from 'vitest';
import { findChoice } from './ask-choice.js';

const choices = ['Debian 12', 'Debian 13', '3'].map((value) => ({ value }));
const names = (answer: string) => findChoice(choices, answer).map(({ value }) => value);

it.each([
  ['2', ['Debian 13']],
  ['Debian 12', ['Debian 12']],
  ['debian', ['Debian 12', 'Debian 13']],
  ['13', ['Debian 13']],
  ['4', []],
  ['0', []],
  ['-1', []],
  ['1.5', []],
])('%j means %j', (answer, found) => {
  expect(names(answer)).toEqual(found);
});

it('prefers a name that looks like a number over the number', () => {
  expect(names('3')).toEqual(['3']);
});
