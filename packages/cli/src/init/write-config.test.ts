import { patientClock } from '@nodepool/zk-protocol';
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@nodepool/core';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { CliContext } from '../command/context.js';
import { globalOptions } from '../command/global-options.js';
import { checkTarget, writeConfig } from './write-config.js';

const context: CliContext = {
  ...{ options: globalOptions({ _: [], 'state-dir': '/nonexistent' }), logger: silentLogger },
  ...{ clock: patientClock, env: {} },
};
const VALID = 'labels:\n  - name: small\n';
let directory = '';

beforeEach(async () => (directory = await mkdtemp(join(tmpdir(), 'nodepool-init-test-'))));
afterEach(() => rm(directory, { recursive: true }));

it('writes the file and leaves nothing else', async () => {
  const file = join(directory, 'nodepool.yaml');

  await writeConfig(context, file, VALID);

  expect(await readFile(file, 'utf8')).toBe(VALID);
  expect(await readdir(directory)).toEqual(['nodepool.yaml']);
});

it('keeps a file that has appeared meanwhile', async () => {
  const file = join(directory, 'nodepool.yaml');
  await writeFile(file, 'mine');

  await expect(writeConfig(context, file, VALID)).rejects.toThrow(`${file} exists`);

  expect(await readFile(file, 'utf8')).toBe('mine');
  expect(await readdir(directory)).toEqual(['nodepool.yaml']);
});

it('writes no invalid file, and names the file in errors', async () => {
  const file = join(directory, 'nodepool.yaml');

  await expect(writeConfig(context, file, 'lables: []\n')).rejects.toThrow(`${file}:1:1`);

  expect(await readdir(directory)).toEqual([]);
});

it('reports why a file cannot be written', async () => {
  await expect(writeConfig(context, join(directory, 'no', 'nodepool.yaml'), VALID)).rejects.toThrow('ENOENT');
});

it('treats a dangling link as a file', async () => {
  const file = join(directory, 'nodepool.yaml');
  await symlink(join(directory, 'gone'), file);

  await expect(checkTarget(file)).rejects.toThrow('exists');
});

it('refuses a directory that does not exist', async () => {
  const file = join(directory, 'no', 'nodepool.yaml');

  await expect(checkTarget(file)).rejects.toThrow(`there is no directory ${join(directory, 'no')}; make it`);
});

it('refuses a file in place of a directory', async () => {
  await writeFile(join(directory, 'file'), '');

  await expect(checkTarget(join(directory, 'file', 'nodepool.yaml'))).rejects.toThrow('there is no directory');
});
