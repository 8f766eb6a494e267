import { afterEach, expect, it, vi } from 'vitest';
import { print, inform } from './context.js';

afterEach(() => {
  vi.restoreAllMocks();
});

/** What is written to a stream from now on. */
function listen(stream: NodeJS.WriteStream): { written: string } {
  const heard = { written: '' };
  vi.spyOn(stream, 'write').mockImplementation((text) => {
    heard.written += String(text);
    return true;
  });
  return heard;
}

it('a line for the user cannot control the terminal, even with untrusted parts', () => {
  const heard = listen(process.stderr);

  inform('debian: upload failed: \u001b[2J\u009bm\rgone\nand more');

  expect(heard.written).toBe('debian: upload failed: \\x1b[2J\\x9bm\\rgone\nand more\n');
});

it.each([true, false])('output is escaped except the prefix, on a terminal (%s) as in a pipe', (isTerminal) => {
  const before = Object.getOwnPropertyDescriptor(process.stdout, 'isTTY');
  Object.defineProperty(process.stdout, 'isTTY', { value: isTerminal, configurable: true });
  const heard = listen(process.stdout);

  print(': \u001b[2J', 'error');

  Object.defineProperty(process.stdout, 'isTTY', before ?? { value: undefined, configurable: true });
  expect(heard.written).toBe('error: \\x1b[2J\n');
});
