import { describe, expect, it } from 'vitest';
import {
  COMMON_TO_ARGV,
  expandPath,
  parseCommandLine,
  UsageError,
  type CommandLine,
  type CommonArguments,
} from './arguments.js';

const LINE: CommandLine<CommonArguments> = {
  ...{ name: 'nodepool-test', does: 'Tests.', pidFile: '/run/test.pid', options: {} },
  refused: { repl: 'there is no console' },
  toArguments: (common) => common,
  toArgv: COMMON_TO_ARGV,
};
const parse = (...argv: string[]) => parseCommandLine(LINE, argv, { home: '/home/u', cwd: '/srv', version: '1.2.3' });

describe('a path', () => {
  it.each([
    ['~', '/home/u'],
    ['~/a', '/home/u/a'],
    ['~a', '/srv/~a'],
    ['../a', '/a'],
    ['/a', '/a'],
  ])('%s is expanded to %s', (path, expected) => {
    expect(expandPath(path, '/home/u', '/srv')).toBe(expected);
  });
});

describe('the command line of a service', () => {
  it('takes the last value of a repeated option', async () => {
    expect(await parse('-c', 'a', '-c', 'b')).toMatchObject({ configFile: '/srv/b' });
  });

  it.each(['0', '0.5', 'Infinity'])('accepts a drain timeout of %s s', async (seconds) => {
    expect(await parse('--drain-timeout', seconds)).toMatchObject({ drainTimeoutMs: Number(seconds) * 1000 });
  });

  it.each([
    [['--drain-timeout', '-1'], /--drain-timeout needs a number of seconds/],
    [['--drain-timeout', 'soon'], /--drain-timeout needs a number of seconds/],
    [['--state-dir', ''], /^--state-dir needs a value$/],
    [['--repl'], /^--repl is not supported: there is no console$/],
    [['--no-repl'], /^--no-repl is not supported/],
    [['word'], /word/],
  ])('refuses %j', async (argv, message) => {
    await expect(parse(...argv)).rejects.toThrow(message);
    await expect(parse(...argv)).rejects.toBeInstanceOf(UsageError);
  });

  it('does not list refused options in its help', async () => {
    const { print } = (await parse('--help')) as { print: string };

    expect(print).toContain('--no-webapp');
    expect(print).not.toContain('repl');
  });
});
