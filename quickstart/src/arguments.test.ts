import { expect, it } from 'vitest';
import { HELP, readArguments } from './arguments.js';

it('reads files from the directory in which npm was called', () => {
  const args = ['--once', '-c', 'mine.yaml', '--key', '/keys/ci', 'small', 'large'];

  expect(readArguments(args, '/home/me')).toMatchObject({
    ...{ once: true, file: '/home/me/mine.yaml', key: '/keys/ci' },
    labels: ['small', 'large'],
  });
});

it('explains each option', () => {
  for (const option of ['--once', '-c FILE', '--key FILE', '--state-dir DIR', '--help', 'LABEL'])
    expect(HELP).toMatch(new RegExp(`^ +.*${option}.* {2}\\S`, 'm'));
});

it('says in one line what is no option', () => {
  expect(() => readArguments(['--oncee'])).toThrow(/^Unknown option '--oncee'\nTry: npm start -- --help$/);
});
