import { describe, expect, it } from 'vitest';
import { useWorld } from '../../test/world.js';
import { COMMANDS } from './index.js';

const get = useWorld();
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

  it.each([
    [['image-build']],
    [['delete']],
    [['hold']],
    [['image-delete', '--provider', 'p', '--image', 'i', '--build-id', 'b']],
    [['dib-image-delete']],
    [['info']],
    [['erase']],
    [['image-pause']],
    [['image-unpause']],
    [['export-image-data']],
    [['import-image-data']],
  ])('%j lacks an argument: status 2', async (argv) => {
    expect(await call(...argv)).toMatchObject({ status: 2, stdout: '' });
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
