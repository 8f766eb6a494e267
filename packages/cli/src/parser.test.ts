import { describe, expect, it } from 'vitest';
import { UsageError } from './command/usage-error.js';
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
      command: {
        ...{ name: 'list', detail: false, isMine: false },
        server: { url: undefined, tokenFile: undefined, caFile: undefined, isInsecure: false },
      },
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
    [
      ['list', '--detail'],
      {
        name: 'list',
        detail: true,
        isMine: false,
        server: { url: undefined, tokenFile: undefined, caFile: undefined, isInsecure: false },
      },
    ],
    [['request-list'], { name: 'request-list', detail: false }],
    [['info', 'rack'], { name: 'info', provider: 'rack' }],
    [['delete', '0000000042'], { name: 'delete', id: '0000000042', now: false }],
    [['delete', '--now', '0000000042'], { name: 'delete', id: '0000000042', now: true }],
    [['hold', '0000000042'], { name: 'hold', id: '0000000042', cancel: false }],
    [['config-validate'], { name: 'config-validate', unservedOk: false, asOriginal: false, asksClouds: false }],
    [
      ['config-validate', '--unserved-ok'],
      { name: 'config-validate', unservedOk: true, asOriginal: false, asksClouds: false },
    ],
    [['config-schema'], { name: 'config-schema' }],
    [['drivers'], { name: 'drivers' }],
    [['cancel', '200-0000000001'], { name: 'cancel', id: '200-0000000001' }],
    [['erase', 'rack', '--force'], { name: 'erase', provider: 'rack', force: true }],
  ])('understands %j', async (argv, expected) => {
    expect((await command(...argv)).command).toEqual(expected);
  });

  it('does not change arguments after --', async () => {
    const { command: run } = await command('run', 'small', '--', 'git', '--ver');

    expect(run).toMatchObject({ command: ['git', '--ver'] });
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

  it('does not change the command of run', async () => {
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
});
