import { describe, expect, it } from 'vitest';
import { expandOption } from './expand-option.js';

const OWN = ['detail', 'no-wait'];
const GENERAL = ['debug', 'format', 'state-dir', 'strict', 'c'];

describe('expandOption', () => {
  it.each([
    ['--deb', '--debug'],
    ['--form=json', '--format=json'],
    ['--no', '--no-wait'],
    ['--strict', '--strict'],
    ['--d', '--detail'],
    ['--other', '--other'],
    ['--c', '--c'],
    ['-d', '-d'],
    ['deb', 'deb'],
    ['--', '--'],
    ['--=x', '--=x'],
  ])('makes %s %s', (word, expected) => {
    expect(expandOption(word, [OWN, GENERAL])).toEqual({ word: expected });
  });

  it('names what an abbreviation could stand for', () => {
    expect(expandOption('--st=1', [OWN, GENERAL])).toEqual({ ambiguous: ['--state-dir', '--strict'] });
  });
});
