import { expect, it } from 'vitest';
import { UsageError } from './command/usage-error.js';
import { parseCommandLine } from './parser.js';

const parse = (...argv: string[]) => parseCommandLine(argv, '1.2.3');

const command = async (...argv: string[]) => {
  const line = await parse(...argv);
  if (line.kind !== 'command') throw new Error(line.text);
  const { kind, command: found, args, ...rest } = line;
  return { kind, command: { name: found.name, ...(args as object) }, ...rest };
};

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

  expect(line.command).toMatchObject(expected);
  expect(line.log.debug).toBe(argv.includes('--deb'));
});

it.each([
  [['--st', 'list'], 'ambiguous option --st: could be --strict, --state-dir'],
  [['image-list', '--f=json'], 'ambiguous option --f: could be --format, --fields'],
])('refuses the ambiguous abbreviation in %j', async (argv, text) => {
  await expect(parse(...argv)).rejects.toThrow(text);
  await expect(parse(...argv)).rejects.toBeInstanceOf(UsageError);
});
