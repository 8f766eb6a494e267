import { expect, it } from 'vitest';
import { COMMAND_GROUPS, loadCommands } from '../commands/index.js';
import { commandText, helpWidth, overviewText } from './help-text.js';

it.each([
  [undefined, 100],
  [300, 100],
  [80, 80],
  [10, 60],
])('is, on a terminal of %s columns, %i wide', (columns, width) => {
  expect(helpWidth(columns)).toBe(width);
});

it('shows usage, arguments, own options with defaults, and the options of every command', async () => {
  const run = (await loadCommands()).find(({ name }) => name === 'run');
  const text = run ? commandText(run, 100) : '';

  expect(text).toMatch(/^Usage: nodepool run LABEL\.\.\. \[options\] -- COMMAND ARGS\n/);
  expect(text).toMatch(/\nArguments:\n {2}LABEL\.\.\. {2}labels, one node each\n/);
  expect(text).toMatch(/\n {6}--count N .*\[default 1\]\n/);
  expect(text).toMatch(/\nOptions of every command:\n/);
});

it('keeps the right column within a narrow terminal', async () => {
  const texts = [
    overviewText(COMMAND_GROUPS, 60),
    ...(await loadCommands()).map((command) => commandText(command, 60)),
  ];
  const continued = texts.flatMap((text) => text.split('\n').filter((line) => /^ {12,}\S/.test(line)));

  expect(continued.length).toBeGreaterThan(100);
  expect(Math.max(...continued.map((line) => line.length))).toBeLessThanOrEqual(60);
});
