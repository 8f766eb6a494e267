import { expect, it } from 'vitest';
import { COMMON_TO_ARGV, type CommandLine, type CommonArguments } from './arguments.js';
import { serviceManPage } from './man-page.js';

const LINE: CommandLine<CommonArguments> = {
  ...{ name: 'nodepool-test', does: 'Tests things.', pidFile: '/run/test.pid' },
  options: { speed: { type: 'number', default: 3, describe: 'how fast' } },
  refused: { repl: 'there is no console' },
  toArguments: (common) => common,
  toArgv: COMMON_TO_ARGV,
};
const page = serviceManPage(LINE);

it('has a title, a one-line description and the sections of a man page', () => {
  expect(page).toMatch(/^\.TH NODEPOOL\\-TEST 8 /);
  expect(page).toContain('nodepool\\-test \\- tests things\n');
  expect(page.match(/^\.SH .*$/gm)?.map((line) => line.slice(4))).toEqual([
    ...['NAME', 'SYNOPSIS', 'DESCRIPTION', 'OPTIONS', 'SIGNALS', 'EXIT STATUS', 'ENVIRONMENT', 'FILES', 'SEE ALSO'],
  ]);
});

it('shows options with their values and defaults; those that are on by default as --no-', () => {
  expect(page).toContain('\\fB\\-\\-speed\\fR \\fIN\\fR\nHow fast (default 3).');
  expect(page).toContain('\\fB\\-p\\fR \\fIFILE\\fR\nPid file of the daemon (default /run/test.pid).');
  expect(page).toContain('\\fB\\-\\-no\\-webapp\\fR\n');
  expect(page).not.toContain('repl');
});
