import { beforeAll, describe, expect, it } from 'vitest';
import { DEAD_PORT, useWorld } from '../../test/world.js';
import type { Command } from '../command/command.js';
import { COMMANDS, loadCommands } from './index.js';

const get = useWorld();
beforeAll(() => get().write('nodepool.yaml', DEAD_PORT));

const call = (...argv: string[]) => get().call(...argv);

/** Titles of the columns of the first table. */
const titles = (stdout: string) =>
  (stdout.split('\n').find((line) => line.startsWith('|')) ?? '')
    .split('|')
    .slice(1, -1)
    .map((title) => title.trim());

const NODE_COLUMNS = ['ID', 'Provider', 'Label', 'Server ID', 'Public IPv4', 'IPv6', 'State', 'Age', 'Locked'];
const MORE_NODE_COLUMNS = [
  ...['Pool', 'Hostname', 'Private IPv4', 'AZ', 'Username', 'Port', 'Launcher', 'Allocated To', 'Hold Job', 'Comment'],
  ...['User Data', 'Driver Data'],
];

describe('the commands of Nodepool', () => {
  it('are all there', () => {
    const names = COMMANDS.map(({ name }) => name);

    const original = [
      ...['list', 'image-list', 'dib-image-list', 'image-status', 'image-build', 'alien-image-list', 'delete', 'hold'],
      ...['image-delete', 'dib-image-delete', 'config-validate', 'request-list', 'info', 'erase', 'image-pause'],
      ...['image-unpause', 'export-image-data', 'import-image-data'],
    ];
    expect(original.filter((name) => !names.includes(name))).toEqual([]);
  });

  it.each([
    [['list'], NODE_COLUMNS],
    [
      ['list', '--detail'],
      [...NODE_COLUMNS, ...MORE_NODE_COLUMNS],
    ],
    [
      ['image-list'],
      ['Build ID', 'Upload ID', 'Provider', 'Image', 'Provider Image Name', 'Provider Image ID', 'State', 'Age'],
    ],
    [['dib-image-list'], ['ID', 'Image', 'Builder', 'Formats', 'State', 'Age']],
    [['image-status'], ['Image', 'Paused', 'Build Request', 'Build Request Age']],
    [
      ['request-list'],
      ['Request ID', 'Priority', 'State', 'Requestor', 'Node Types', 'Nodes', 'Declined By', 'Event ID'],
    ],
    [['alien-image-list'], ['Provider', 'Name', 'Image ID']],
    [
      ['alien-image-list', 'unknown'],
      ['Provider', 'Name', 'Image ID'],
    ],
    [
      ['list', '--det'],
      [...NODE_COLUMNS, ...MORE_NODE_COLUMNS],
    ],
    [
      ['info', 'rack'],
      ['Image Name', 'Build ID', 'Upload IDs'],
    ],
  ])('%j has the columns of its table, and rules around an empty one', async (argv, columns) => {
    const { status, stdout } = await call(...argv);

    expect(titles(stdout)).toEqual(columns);
    expect(stdout.match(/^\+[-+]+\+$/gm)?.length).toBe(argv[0] === 'info' ? 6 : 3);
    expect(status).toBe(0);
  });

  it.each([
    [['delete', '0000000042'], 'Node id 0000000042 not found'],
    [['delete', '0000000042', '--now'], 'Node id 0000000042 not found'],
    [['hold', '0000000042'], 'Node id 0000000042 not found'],
    [
      ['image-delete', '--provider', 'p', '--image', 'i', '--build-id', 'b', '--upload-id', '0000000001'],
      'Image upload not found',
    ],
    [['dib-image-delete', 'debian-0000000001'], 'Build debian-0000000001 not found'],
  ])('%j says that there is no such thing, with status 0, and with 1 when strict', async (argv, text) => {
    expect(await call(...argv)).toMatchObject({ status: 0, stdout: `${text}\n` });
    expect(await call(...argv, '--strict')).toMatchObject({ status: 1, stderr: `nodepool: ${text}\n` });
  });

  it('image-build refuses an image that no configuration names', async () => {
    const { status, stderr } = await call('image-build', 'debian');

    expect([status, stderr]).toEqual([
      1,
      expect.stringContaining('Trying to build a non disk-image-builder image: debian'),
    ]);
  });

  it.each(['image-pause', 'image-unpause'])('%s may be repeated, for an image that does not exist', async (command) => {
    expect((await call(command, 'debian')).status).toBe(0);
    expect((await call(command, 'debian')).status).toBe(0);
  });
});

it('has each command once, with what help needs', () => {
  expect(new Set(COMMANDS.map(({ name }) => name)).size).toBe(COMMANDS.length);
  for (const { summary } of COMMANDS) expect(summary).toMatch(/^[a-z].*[^.]$/);
});

/** A call with this value for each argument that has no fixed values. */
function argvOf({ name, usage, positionals = {}, takesRest }: Command, value: string): string[] {
  const args = [...usage.matchAll(/<(\w+)/g)].map(([, positional = '']) => {
    if (positional === 'path') return get().file(value);
    const [choice] = (positionals[positional]?.choices ?? []) as string[];
    return choice ?? (name === 'pool' ? `${value}/${value}` : value);
  });
  return [name, ...args, ...(name === 'erase' ? ['--force'] : []), ...(takesRest === true ? ['--', 'true'] : [])];
}

const taking = (await loadCommands()).filter(({ usage }) => usage.includes('<'));

describe.each([
  ['missing', undefined],
  ['with a slash', 'a/../b'],
  ['with a null character', 'a\u0000b'],
  ['that no record has', 'unknown'],
  ['of 100,000 characters', 'x'.repeat(100_000)],
])('an argument %s', (_what, value) => {
  it.each(taking.map((command) => [command.name, command] as const))(
    'is answered by %s in words',
    async (name, command) => {
      await get().registerRack(['small']);
      await get().createNode();

      const { status, stdout, stderr } = await call(...(value === undefined ? [name] : argvOf(command, value)));

      expect([0, 1, 2]).toContain(status);
      if (value === undefined) expect([status, stderr]).toEqual([2, expect.stringContaining(`${name} needs `)]);
      expect(`${stdout}${stderr}`).not.toMatch(/TypeError|RangeError|ERR_|^ {4}at /m);
      expect(await get().zk.getChildren('/nodepool/nodes')).toHaveLength(1);
    },
  );
});
