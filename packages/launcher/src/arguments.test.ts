import { describe, expect, it } from 'vitest';
import { daemonArgv, UsageError } from '@nodepool/daemon';
import { COMMAND_LINE, parseArguments } from './arguments.js';

const parse = (...argv: string[]) => parseArguments(argv, { home: '/home/u', cwd: '/srv', version: '1.2.3' });

describe('command line of nodepool-launcher', () => {
  it('has the documented defaults', async () => {
    expect(await parse()).toEqual({
      configFile: '/etc/nodepool/nodepool.yaml',
      secureFile: undefined,
      logConfigFile: undefined,
      pidFile: '/var/run/nodepool/nodepool.pid',
      foreground: false,
      debug: false,
      webapp: true,
      stateDir: undefined,
      drainTimeoutMs: 60_000,
      announceLegacy: false,
    });
  });

  it('expands ~ and relative paths', async () => {
    expect(
      await parse('-c', 'a.yaml', '-s', '~/s.yaml', '-l', '/l.yaml', '-p', '../x.pid', '--state-dir', '~'),
    ).toMatchObject({
      configFile: '/srv/a.yaml',
      secureFile: '/home/u/s.yaml',
      logConfigFile: '/l.yaml',
      pidFile: '/x.pid',
      stateDir: '/home/u',
    });
  });

  it('stays in the foreground with -f, and logs more with -d', async () => {
    expect(await parse('-f', '--no-webapp')).toMatchObject({ foreground: true, debug: false, webapp: false });
    expect(await parse('-d')).toMatchObject({ foreground: true, debug: true });
  });

  it('understands abbreviated options', async () => {
    expect(await parse('-f', '--no', '--dr=5', '--state', 's')).toMatchObject({
      ...{ webapp: false, drainTimeoutMs: 5_000, stateDir: '/srv/s' },
    });
    await expect(parse('--re')).rejects.toBeInstanceOf(UsageError);
  });

  it('prints its version in the established form', async () => {
    expect(await parse('--version')).toEqual({ print: 'Nodepool version: 1.2.3' });
  });

  it.each(['-h', '--help'])('prints its usage for %s', async (flag) => {
    expect(await parse(flag)).toEqual({ print: expect.stringContaining('--no-webapp') as string });
  });

  it.each([
    [['--nonsense'], /nonsense/],
    [['extra'], /extra/],
    [['-c'], /c/],
    [['-c', ''], /^-c needs a value$/],
    [['--state-dir='], /^--state-dir needs a value$/],
    [['--drain-timeout', 'soon'], /--drain-timeout/],
    [['--take-over', '4711'], /--take-over.*QUIT/],
    [['--repl'], /--repl is not supported/],
    [['--no-launches'], /max-servers: 0/],
    [['--no-deletes'], /--no-deletes is not supported/],
  ])('refuses %j', async (argv, message) => {
    const parsed = parse(...argv);

    await expect(parsed).rejects.toBeInstanceOf(UsageError);
    await expect(parsed).rejects.toThrow(message);
  });
});

/** Each option of the command line, with a value that is not its default. */
const OPTIONS = {
  configFile: ['-c', 'a b.yaml'],
  secureFile: ['-s', '~/secure.yaml'],
  logConfigFile: ['-l', 'log.yaml'],
  pidFile: ['-p', 'n.pid'],
  foreground: ['-f'],
  debug: ['-d'],
  webapp: ['--no-webapp'],
  stateDir: ['--state-dir', 'state'],
  drainTimeoutMs: ['--drain-timeout', '1.5'],
  announceLegacy: ['--announce-legacy'],
};

async function repeated(argv: readonly string[]) {
  const first = await parse(...argv);
  if ('print' in first) throw new Error('expected arguments');
  return { first, second: await parse(...daemonArgv(COMMAND_LINE, first)) };
}

describe('the command line of the detached process', () => {
  it.each(Object.entries(OPTIONS))('repeats %s', async (name, argv) => {
    const { first, second } = await repeated(argv);

    expect(first).not.toHaveProperty(name, (await repeated([])).first[name as keyof typeof OPTIONS]);
    expect(second).toEqual(first);
  });

  it('repeats all options; this test has every option', async () => {
    const { first, second } = await repeated(Object.values(OPTIONS).flat());

    expect(second).toEqual(first);
    expect(Object.keys(OPTIONS).sort()).toEqual(Object.keys(first).sort());
  });
});
