import { appendFile, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GrowingFile } from '../src/logs/growing-file.js';
import { nodepool } from './program.js';

let directory: string;
let file: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nodepool-logs-'));
  file = join(directory, 'nodepool.log');
  await writeFile(file, 'INFO [node: 0000000007] made\nINFO [node: 0000000008] made\nINFO [node: 0000000007] gone\n');
});
afterEach(() => rm(directory, { recursive: true }));

describe('nodepool logs', () => {
  it('shows the lines about a node', async () => {
    const { status, stdout } = await nodepool('logs', '--node', '0000000007', '--file', file);

    expect([status, stdout]).toEqual([0, 'INFO [node: 0000000007] made\nINFO [node: 0000000007] gone\n']);
  });

  it('says so when there are none, with status 1 when strict', async () => {
    const lenient = await nodepool('logs', '--request', '200-1', '--file', file);
    const strict = await nodepool('logs', '--request', '200-1', '--file', file, '--strict');

    expect(lenient).toMatchObject({ status: 0, stdout: '' });
    expect(lenient.stderr).toContain('No line of the log names 200-1');
    expect(strict.status).toBe(1);
  });

  it('names the file that it cannot read', async () => {
    const { status, stderr } = await nodepool('logs', '--node', '7', '--file', join(directory, 'none'));

    expect(status).toBe(1);
    expect(stderr).toContain(`Cannot read the log ${join(directory, 'none')}`);
  });

  it.each([[[]], [['--node', '7', '--request', '200-1']]])('is refused with %j', async (args) => {
    const { status, stderr } = await nodepool('logs', ...args);

    expect(status).toBe(2);
    expect(stderr).toContain('logs needs one of --node, --request and --build');
  });
});

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
