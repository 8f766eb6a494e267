import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '@nodepool/zk-protocol';
import { takePidFile, waitForPidFile } from './pid-file.js';

describe('pid file', () => {
  let dir: string;
  let file: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'nodepool-pid-'));
    file = join(dir, 'run', 'nodepool.pid');
  });
  afterEach(() => rm(dir, { recursive: true }));

  it('holds our pid until released, and leaves nothing else', async () => {
    const held = await takePidFile(file);
    const content = await readFile(file, 'utf8');
    await held.release();

    expect(content).toBe(`${process.pid}\n`);
    expect(await readdir(join(dir, 'run'))).toEqual([]);
  });

  it('is refused while its process runs', async () => {
    const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    file = join(dir, 'nodepool.pid');
    await writeFile(file, `${other.pid}\n`);

    await expect(takePidFile(file)).rejects.toThrow(`belongs to process ${other.pid}`);
    await expect(waitForPidFile(file, systemClock, 0)).rejects.toThrow(`belongs to process ${other.pid}`);

    other.kill('SIGKILL');
    await once(other, 'exit');
    await waitForPidFile(file, systemClock, 0);
    await (await takePidFile(file)).release();
  });

  it.each(['', 'nonsense', '999999999'])('is taken over when it says %j', async (content) => {
    file = join(dir, 'nodepool.pid');
    await writeFile(file, content);

    const held = await takePidFile(file);

    expect(await readFile(file, 'utf8')).toBe(`${process.pid}\n`);
    await held.release();
  });

  it('is left alone when another process has taken it', async () => {
    const held = await takePidFile(file);
    await writeFile(file, '1\n');

    await held.release();

    expect(await readFile(file, 'utf8')).toBe('1\n');
  });
});
