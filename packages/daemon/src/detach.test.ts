import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { detach, isDaemon } from './detach.js';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nodepool-detach-'));
});
afterEach(() => rm(directory, { recursive: true }));

async function script(text: string): Promise<string> {
  const file = join(directory, 'daemon.mjs');
  await writeFile(file, text);
  return file;
}

describe('a detached process', () => {
  it('runs in the root directory with a mark in its environment, and reports that it started', async () => {
    const file = await script(`
      const isMarked = process.env.NODEPOOL_DAEMON === '1' && process.cwd() === '/' && process.argv[2] === '-c';
      process.send(isMarked ? { started: true } : { failed: 'no' });
      process.disconnect();
    `);

    await expect(detach(file, ['-c'])).resolves.toBeUndefined();
  });

  it('reports why it could not start', async () => {
    const file = await script(
      `process.send({ other: 1 }); process.send({ failed: 'no such file' }); process.disconnect();`,
    );

    await expect(detach(file, [])).rejects.toMatchObject({ code: 'NODEPOOL_DAEMON', message: 'no such file' });
  });

  it('is reported as ended if it exits without a message', async () => {
    const file = await script('process.exit(3)');

    await expect(detach(file, [])).rejects.toThrow(/with status 3 before it was ready; start it with -f/);
  });
});

it('does not take a process for a daemon that inherited the mark without a channel', () => {
  expect(isDaemon({})).toBe(false);
  expect(isDaemon({ NODEPOOL_DAEMON: '1' })).toBe(process.send !== undefined);
});
