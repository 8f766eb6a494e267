import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT, readArguments } from './arguments.js';

it('reads files from the directory in which npm was called', () => {
  const args = ['--once', '-c', 'mine.yaml', '--identity', '/keys/ci', 'small', 'large'];

  expect(readArguments(args, '/home/me')).toMatchObject({
    ...{ once: true, file: '/home/me/mine.yaml', key: '/keys/ci' },
    labels: ['small', 'large'],
  });
});

it('uses the configuration with containers for --incus, unless another is named', () => {
  expect(readArguments(['--incus'])).toMatchObject({
    incus: true,
    file: join(ROOT, 'quickstart', 'incus.yaml'),
    stateDir: join(ROOT, '.nodepool', 'quickstart-incus'),
  });
  expect(readArguments(['--incus', '-c', 'mine.yaml'], '/home/me')).toMatchObject({ file: '/home/me/mine.yaml' });
  expect(readArguments([])).toMatchObject({ incus: false, file: join(ROOT, 'quickstart', 'nodepool.yaml') });
});

it('explains each option', () => {
  const help = readFileSync(join(ROOT, 'quickstart', 'help.txt'), 'utf8');

  for (const option of ['--once', '--incus', '-c FILE', '--identity FILE', '--state-dir DIR', '--help', 'LABEL'])
    expect(help).toMatch(new RegExp(`^ +.*${option}.* {2}\\S`, 'm'));
});

it('says in one line what is no option', () => {
  expect(() => readArguments(['--oncee'])).toThrow(/^Unknown option '--oncee'\nTry: npm start -- --help$/);
});
