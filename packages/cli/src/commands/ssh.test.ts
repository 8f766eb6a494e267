import { expect, it } from 'vitest';
import { useWorld } from '../../test/world.js';

const get = useWorld();
const call = (...argv: string[]) => get().call(...argv);

it.each([
  [['run', 'small', '--', 'make', 'test'], /^nodepool: make runs on this computer .*nodepool ssh small -- make/],
  [['ssh', 'small', '--', 'make', 'test'], /^nodepool: make runs on a node of label small\n/],
  [['ssh', 'small'], /^nodepool: a login shell runs on a node of label small\n/],
])('%j says first where the command runs', async (argv, first) => {
  const [command = '', label = '', ...rest] = argv;

  expect((await call(command, '--timeout', '0.1s', label, ...rest)).stderr).toMatch(first);
  expect((await call(command, '--timeout', '0.1s', '-q', label, ...rest)).stderr).not.toContain(' runs on ');
});

it.each([
  [['--copy', '/no such'], 1, 'Cannot copy /no such: '],
  [['--copy', import.meta.filename], 1, 'it is not a directory; name the one that contains it'],
  [['-i', '/no such'], 1, 'Cannot read the key of --identity /no such: '],
  [['--identity=~/no such'], 1, 'Cannot read the key of --identity ~/no such: '],
  [['--fetch', 'a/..'], 2, '--fetch needs the path of a file or directory, got "a/.."'],
  [['--hold-on-failure=soon'], 2, '--hold-on-failure= needs a duration'],
  [['--hold-on-failure=0'], 2, '--hold-on-failure needs a time above 0'],
])('nodepool ssh %j asks for no node', async (options, status, message) => {
  const outcome = await call('ssh', 'small', ...options, '--', 'true');

  expect(outcome).toMatchObject({ status, stderr: expect.stringContaining(message) as string });
  expect(await get().zk.getChildren('/nodepool/requests')).toEqual([]);
});
