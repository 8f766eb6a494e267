import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nodepool } from '../../test/program.js';

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

  it('names the searched places and ends with status 1 when there are no logs', async () => {
    const { status, stdout, stderr } = await nodepool('logs', '--request', '200-0000000001', '--file', file);

    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`No line of ${file} names 200-0000000001`);
  });

  it.each([
    [['--node', '7'], '--node needs an id such as 0000000042, got "7"'],
    [['--request', '0000000007'], '--request needs an id such as 200-0000000042, got "0000000007"'],
  ])('is refused with %j, which no log line has', async (args, message) => {
    expect(await nodepool('logs', ...args)).toMatchObject({
      status: 2,
      stderr: expect.stringContaining(message) as string,
    });
  });

  it('names the file that it cannot read', async () => {
    const { status, stderr } = await nodepool('logs', '--node', '0000000007', '--file', join(directory, 'none'));

    expect(status).toBe(1);
    expect(stderr).toContain(`Cannot read the log ${join(directory, 'none')}: ENOENT`);
  });

  it.each([[[]], [['--node', '7', '--request', '200-1']]])('is refused with %j', async (args) => {
    const { status, stderr } = await nodepool('logs', ...args);

    expect(status).toBe(2);
    expect(stderr).toContain('logs needs one of --node, --request and --build');
  });
});
