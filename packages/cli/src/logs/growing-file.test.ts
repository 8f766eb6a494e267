import { appendFile, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { GrowingFile } from './growing-file.js';

let directory: string;
let file: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nodepool-logs-'));
  file = join(directory, 'nodepool.log');
  await writeFile(file, 'INFO [node: 0000000007] made\nINFO [node: 0000000008] made\nINFO [node: 0000000007] gone\n');
});
afterEach(() => rm(directory, { recursive: true }));

it('is followed into the file that takes its place', async () => {
  const log = new GrowingFile(file);
  let text = '';
  const read = () => log.read((more) => (text += more));
  await writeFile(file, 'one\n');
  await read();
  await appendFile(file, 'two\n');
  await rename(file, `${file}.1`);
  await read();
  await writeFile(file, 'three\n');
  await read();
  await writeFile(file, 'x\n');
  await read();
  await log.close();

  expect(text).toBe('one\ntwo\nthree\nx\n');
});
