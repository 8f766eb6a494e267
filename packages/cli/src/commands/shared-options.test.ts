import { expect, it } from 'vitest';
import { parseCommandLine } from '../parser.js';

const command = async (...argv: string[]) => {
  const line = await parseCommandLine(argv, '1.2.3');
  if (line.kind !== 'command') throw new Error(line.text);
  const { kind, command: found, args, ...rest } = line;
  return { kind, command: { name: found.name, ...(args as object) }, ...rest };
};

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
    sshKeyFile: undefined,
    server: { url: undefined, tokenFile: undefined, caFile: undefined, isInsecure: false },
  });
});

it('gives a request without --wait just long enough for ready nodes', async () => {
  expect((await command('request', 'small', '--no-wait')).command).toMatchObject({ timeoutMs: 5000 });
});

it.each([
  [['request', 'small', '--count', '1000000000'], 'a request takes at most 10000 nodes'],
  [['request', 'small', '--count', '-1'], '--count needs a whole number above 0'],
  [['run', 'small', '--timeout', '9'.repeat(400), '--', 'true'], '--timeout takes at most 3650d'],
  [['run', 'small', '--hold-on-failure=99999999999999d', '--', 'true'], '--hold-on-failure= takes at most 3650d'],
  [['ssh', 'small', '--hold-on-failure=0s'], '--hold-on-failure needs a time above 0'],
  [['hosts', '--url', 'nl01:8005'], '--url needs a form like http://nl01:8005'],
])('%.60j is refused', async (argv, message) => {
  await expect(parseCommandLine(argv, '1.2.3')).rejects.toThrow(message);
});
