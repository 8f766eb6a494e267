import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '@nodepool/zk-protocol';
import { pidFileHolder, takePidFile, waitForPidFile, processIdentity } from './pid-file.js';

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

  it('is writable for its owner alone, whatever the umask', async () => {
    const usual = process.umask(0);
    onTestFinished(() => void process.umask(usual));
    const held = await takePidFile(file);
    const { mode } = await stat(file);
    await held.release();

    expect((mode & 0o777).toString(8)).toBe('644');
  });

  it('is not made behind a link that every user could have made', async () => {
    const [shared, victim] = [join(dir, 'shared'), join(dir, 'victim')];
    await Promise.all([mkdir(shared), mkdir(victim)]);
    await chmod(shared, 0o1777);
    await symlink(victim, join(shared, 'run'));

    const error: unknown = await takePidFile(join(shared, 'run', 'nodepool.pid')).catch((reason: unknown) => reason);

    expect(error).toMatchObject({ code: 'NODEPOOL_UNSAFE_DIRECTORY' });
    expect(await readdir(victim)).toEqual([]);
  });

  it('is not made as root in a directory of another user, who could replace it', async () => {
    if (process.geteuid?.() !== 0) return; // Only root can give directories away.
    const run = join(dir, 'run');
    await mkdir(run);
    await chown(run, 4711, 4711);

    const error: unknown = await takePidFile(file).catch((reason: unknown) => reason);

    expect(error).toMatchObject({
      code: 'NODEPOOL_UNSAFE_DIRECTORY',
      message: expect.stringMatching(/"chown -R root:root .*run"; choose another file with -p, such as/) as string,
    });
    expect(await readdir(run)).toEqual([]);
  });

  it('is refused while its process runs', async () => {
    const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    file = join(dir, 'nodepool.pid');
    await writeFile(file, `${other.pid}\n`);

    await expect(takePidFile(file)).rejects.toThrow(`belongs to process ${other.pid}`);
    await expect(waitForPidFile(file, systemClock, () => {}, 0)).rejects.toThrow(`belongs to process ${other.pid}`);

    other.kill('SIGKILL');
    await once(other, 'exit');
    await waitForPidFile(file, systemClock, () => {}, 0);
    await (await takePidFile(file)).release();
  });

  it('says why it cannot be used, and what to do', async () => {
    await writeFile(join(dir, 'a-file'), '');
    file = join(dir, 'a-file', 'nodepool.pid');

    const refusal = new RegExp(`^pid file ${file} cannot be used: .*a-file.*; choose another file with -p$`);
    await expect(takePidFile(file)).rejects.toThrow(refusal);
    await expect(waitForPidFile(file, systemClock, () => {}, 0)).rejects.toThrow(refusal);
  });

  it.each(['', 'nonsense', '999999999'])('is taken over when it says %j', async (content) => {
    file = join(dir, 'nodepool.pid');
    await writeFile(file, content);

    const held = await takePidFile(file);

    expect(await readFile(file, 'utf8')).toBe(`${process.pid}\n`);
    await held.release();
  });

  it('is kept when another process has taken it', async () => {
    const held = await takePidFile(file);
    await writeFile(file, '1\n');

    await held.release();

    expect(await readFile(file, 'utf8')).toBe('1\n');
  });

  it('is taken over from a process that ended, although another has its id now', async () => {
    const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    onTestFinished(() => void other.kill('SIGKILL'));
    file = join(dir, 'nodepool.pid');
    await writeFile(file, `${other.pid}\n`);
    const identity = await processIdentity(other.pid ?? 0);
    await writeFile(`${file}.start`, `${other.pid} ${identity}\n`);
    const sameProcess = await pidFileHolder(file);
    await writeFile(`${file}.start`, `${other.pid} ${identity?.replace(/\d+$/, '17')}\n`);
    const recycled = await pidFileHolder(file);
    await writeFile(`${file}.start`, `${other.pid} 00000000-0000-0000-0000-000000000000 ${identity?.split(' ')[1]}\n`);
    const afterBoot = await pidFileHolder(file);

    await (await takePidFile(file)).release();

    expect([sameProcess, recycled, afterBoot]).toEqual([other.pid, undefined, undefined]);
    expect(await readdir(dir)).toEqual([]);
  });

  it('remembers when its process was started', async () => {
    const held = await takePidFile(file);
    const start = await readFile(`${file}.start`, 'utf8');
    await held.release();

    expect(start).toBe(`${process.pid} ${await processIdentity(process.pid)}\n`);
  });

  it('never writes through a symbolic link', async () => {
    file = join(dir, 'nodepool.pid');
    const victim = join(dir, 'victim');
    await writeFile(victim, 'precious');
    await symlink(victim, `${file}.${process.pid}`);
    await symlink(victim, `${file}.start.${process.pid}`);

    const held = await takePidFile(file);
    await held.release();

    expect(await readFile(victim, 'utf8')).toBe('precious');
  });

  it('says at once who holds it', async () => {
    const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    onTestFinished(() => void other.kill('SIGKILL'));
    file = join(dir, 'nodepool.pid');
    await writeFile(file, `${other.pid}\n`);
    let nowMs = 0;
    const clock = {
      now: () => nowMs,
      setTimer: (ms: number, fn: () => void) => {
        nowMs += ms;
        queueMicrotask(fn);
        return () => {};
      },
    };
    const told: [number, number][] = [];

    await expect(waitForPidFile(file, clock, (pid) => told.push([pid, nowMs]), 1_000)).rejects.toThrow('belongs to');

    expect(told).toEqual([[other.pid, 0]]);
  });
});
