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
  });
});

it('gives a request without --wait just long enough for ready nodes', async () => {
  expect((await command('request', 'small', '--no-wait')).command).toMatchObject({ timeoutMs: 5000 });
});
