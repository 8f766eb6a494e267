import { describe, expect, it } from 'vitest';
import { escapeControlCharacters, escapeForTerminal } from './visible-text.js';

const HOSTILE = 'a\u001b]0;title\u0007b\u009b2Jc\u202ed\re\u0000f\u007f';
const SHOWN = 'a\\x1b]0;title\\x07b\\x9b2Jc\\u202ed\\re\\x00f\\x7f';

describe('text of others on a terminal', () => {
  it('drives nothing', () => {
    expect(escapeControlCharacters(`${HOSTILE}\n\t`)).toBe(`${SHOWN}\\n\\t`);
    expect(escapeForTerminal(HOSTILE)).toBe(SHOWN);
  });

  it('keeps its lines, tabs and letters', () => {
    expect(escapeForTerminal('one\ttwo\r\nthrée 漢字 🙂\n\nfour')).toBe('one\ttwo\nthrée 漢字 🙂\n\nfour');
  });
});
