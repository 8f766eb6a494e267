import { describe, expect, it } from 'vitest';
import { UsageError } from './command/usage-error.js';
import { COMMANDS } from './commands/index.js';
import { parseCommandLine } from './parser.js';

const parse = (...argv: string[]) => parseCommandLine(argv, '1.2.3');
const command = async (...argv: string[]) => {
  const line = await parse(...argv);
  if (line.kind !== 'command') throw new Error(line.text);
  const { kind, command: found, args, ...rest } = line;
  return { kind, command: { name: found.name, ...(args as object) }, ...rest };
};

describe('command line of nodepool', () => {
  it('has the documented defaults', async () => {
    expect(await command('list')).toEqual({
      kind: 'command',
      command: { name: 'list', detail: false },
      options: {
        configFile: '/etc/nodepool/nodepool.yaml',
        configFileNamed: false,
        secureFile: undefined,
        stateDir: undefined,
        format: 'table',
        fields: undefined,
        headers: true,
        watchMs: undefined,
        strict: false,
        connectTimeoutMs: 10_000,
      },
      log: { logConfigFile: undefined, debug: false },
    });
  });

  it.each([
    [['list', '--detail'], { name: 'list', detail: true }],
    [['request-list'], { name: 'request-list', detail: false }],
    [['info', 'rack'], { name: 'info', provider: 'rack' }],
    [['delete', '0000000042'], { name: 'delete', id: '0000000042', now: false }],
    [['delete', '--now', '0000000042'], { name: 'delete', id: '0000000042', now: true }],
    [['hold', '0000000042'], { name: 'hold', id: '0000000042', cancel: false }],
    [['config-validate'], { name: 'config-validate' }],
    [['config-schema'], { name: 'config-schema' }],
    [['drivers'], { name: 'drivers' }],
    [['cancel', '200-0000000001'], { name: 'cancel', id: '200-0000000001' }],
    [['erase', 'rack', '--force'], { name: 'erase', provider: 'rack', force: true }],
  ])('understands %j', async (argv, expected) => {
    expect((await command(...argv)).command).toEqual(expected);
  });

  it.each([
    [['--deb', 'list', '--d'], { name: 'list', detail: true }],
    [['delete', '--n', '0000000042'], { name: 'delete', id: '0000000042', now: true }],
    [['erase', 'rack', '--f'], { name: 'erase', provider: 'rack', force: true }],
    [
      ['image-delete', '--p', 'p', '--im=i', '--build', 'b', '--u', 'u'],
      { name: 'image-delete', provider: 'p', image: 'i', buildId: 'b', uploadId: 'u' },
    ],
  ])('understands the abbreviated options of %j', async (argv, expected) => {
    const line = await command(...argv);

    expect(line.command).toEqual(expected);
    expect(line.log.debug).toBe(argv.includes('--deb'));
  });

  it('leaves what follows -- as it is', async () => {
    const { command: run } = await command('run', 'small', '--', 'git', '--ver');

    expect(run).toMatchObject({ command: ['git', '--ver'] });
  });

  it.each([
    [['--st', 'list'], 'ambiguous option --st: could be --strict, --state-dir'],
    [['image-list', '--f=json'], 'ambiguous option --f: could be --format, --fields'],
  ])('refuses the ambiguous abbreviation in %j', async (argv, text) => {
    await expect(parse(...argv)).rejects.toThrow(text);
    await expect(parse(...argv)).rejects.toBeInstanceOf(UsageError);
  });

  it('takes options before and after the command', async () => {
    const { options, log } = await command('-c', 'a.yaml', '--debug', 'list', '--json', '-s', 'b.yaml', '--strict');

    expect(options).toMatchObject({
      configFile: 'a.yaml',
      configFileNamed: true,
      secureFile: 'b.yaml',
      format: 'json',
      strict: true,
    });
    expect(log.debug).toBe(true);
  });

  it('reads how listings are to be shown', async () => {
    const { options } = await command('list', '--format', 'yaml', '--fields', 'id, state', '--no-headers', '--watch');

    expect(options).toMatchObject({ format: 'yaml', fields: new Set(['id', 'state']), headers: false, watchMs: 2000 });
    expect((await command('labels', '--watch', '30s')).options.watchMs).toBe(30_000);
  });

  it('suggests the command that was meant', async () => {
    await expect(parse('lits')).rejects.toThrow('unknown command lits, did you mean list?');
    await expect(parse('request-lst')).rejects.toThrow('did you mean request-list?');
  });

  it.each([
    [['list', '--fromat', 'json'], 'unknown option --fromat, did you mean --format?'],
    [['hold', '1', '--extned', '1h'], 'unknown option --extned, did you mean --extend?'],
    [['list', '--no-heeders'], 'unknown option --no-heeders, did you mean --no-headers?'],
    [['-C', 'x.yaml', 'list'], 'unknown option -C, did you mean -c?'],
    [['list', '--colour'], 'unknown option --colour'],
    [['--detial', 'list'], 'unknown option --detial, did you mean --detail?'],
    [['list', 'what'], 'list takes no further argument, got "what"'],
    [['list', '--format', 'xml'], '--format must be one of table, json, yaml, got "xml"'],
    [['list', '--fields'], '--fields needs a value'],
    [['image-delete', '--image', 'a'], 'image-delete needs --provider, --build-id, --upload-id'],
    [['provider', 'stop', 'rack'], 'action must be one of pause, resume, drain, limit, got "stop"'],
    [['hold'], 'hold needs ID'],
    [['ssh', 'small', 'uname', '-a'], 'write the command after --: nodepool ssh small -- uname -a'],
    [['run', 'small', 'uname', '-a'], 'write the command after --: nodepool run small -- uname -a'],
    [
      ['run', 'small', '--timeout', '60', 'make', '-j4'],
      'write the command after --: nodepool run small --timeout 60 -- make -j4',
    ],
    [['run', 'small', 'uname'], 'run needs a command: nodepool run small -- uname'],
    [['run', 'small'], 'run needs a command: nodepool run LABEL... -- COMMAND ARGS'],
    [['ssh', 'small', 'echo', 'a b'], "write the command after --: nodepool ssh small -- echo 'a b'"],
    [['ssh', 'small', 'uname', '--', '-a'], 'ssh takes no further argument, got "uname"'],
    [['frobnicate'], 'unknown command frobnicate'],
  ])('says what of %j is wrong, and what may have been meant', async (argv, message) => {
    await expect(parse(...argv)).rejects.toThrow(new UsageError(message));
  });

  it('has each command once, with what help needs', () => {
    expect(new Set(COMMANDS.map(({ name }) => name)).size).toBe(COMMANDS.length);
    for (const { summary } of COMMANDS) expect(summary).toMatch(/^[a-z].*[^.]$/);
  });

  it('repeats the labels as often as asked', async () => {
    const { command: request } = await command(
      'request',
      'small',
      'big',
      '--count',
      '2',
      '--hold-for',
      '1h30m',
      '--wait',
    );

    expect(request).toEqual({
      name: 'request',
      labels: ['small', 'big', 'small', 'big'],
      provider: undefined,
      priority: 200,
      timeoutMs: undefined,
      quiet: false,
      force: false,
      holdForMs: 5_400_000,
    });
  });

  it('gives a request without --wait just long enough for ready nodes', async () => {
    expect((await command('request', 'small', '--no-wait')).command).toMatchObject({ timeoutMs: 5000 });
  });

  it('keeps the command of run as it is', async () => {
    const { command: run } = await command(
      'run',
      'small',
      '--priority',
      'high',
      '--',
      'ls',
      '-l',
      '--color',
      '--',
      '0x1',
    );

    expect(run).toMatchObject({ labels: ['small'], priority: 100, command: ['ls', '-l', '--color', '--', '0x1'] });
  });

  it('prints its version in the established form', async () => {
    expect(await parse('--version')).toEqual({ kind: 'print', text: 'Nodepool version: 1.2.3', exitStatus: 0 });
  });

  it('prints its usage for --help, and with status 1 without a command', async () => {
    expect(await parse('-h')).toMatchObject({
      exitStatus: 0,
      text: expect.stringContaining('config-validate') as string,
    });
    expect(await parse('-h')).toMatchObject({
      text: expect.stringMatching(/^Usage: .*\n\nUse machines:\n {2}request .*\n {2}ssh .*\n\nOperate:\n/s) as string,
    });
    expect(await parse()).toMatchObject({ exitStatus: 1, text: expect.stringContaining('config-validate') as string });
  });

  it.each([
    [['nonsense']],
    [['list', '--nonsense']],
    [['list', 'extra']],
    [['info']],
    [['request']],
    [['request', 'small', '--count', '0']],
    [['request', 'small', '--hold-for', 'soon']],
    [['request', 'small', '--priority', 'urgent']],
    [['run', 'small']],
    [['list', '--', 'ls']],
    [['list', '--format', 'xml']],
    [['list', '--fields', 'id,,state']],
    [['list', '--watch', '1ms']],
    [['delete', '0000000042', '--watch']],
    [['erase']],
    [['cancel']],
  ])('refuses %j', async (argv) => {
    await expect(parse(...argv)).rejects.toBeInstanceOf(UsageError);
  });

  it.each([
    [['delete', ''], 'delete needs ID, got an empty word: is a variable not set?'],
    [['request', 'small', ''], 'request needs LABEL..., got an empty word: is a variable not set?'],
    [['explain', ''], 'explain needs [REQUEST], got an empty word: is a variable not set?'],
    [['pool', 'pause', ''], 'pool needs ACTION NAME [NODES], got an empty word: is a variable not set?'],
    [['list', '-c', ''], '-c needs a value'],
    [['list', '--state-dir='], '--state-dir needs a value'],
    [['logs', '--node', ''], '--node needs a value'],
    [['replay', '-c', 'x', '--also', ''], '--also needs a value'],
  ])('says what is missing where a word is empty: %j', async (argv, text) => {
    await expect(parse(...argv)).rejects.toEqual(new UsageError(text));
  });

  it.each([
    ['hold', '0000000042', '--reason', ''],
    ['run', 'small', '--', 'echo', ''],
    ['list', '--watch'],
  ])('takes an empty word where it says something: %s', async (...argv) => {
    await expect(parse(...argv)).resolves.toMatchObject({ kind: 'command' });
  });
});
