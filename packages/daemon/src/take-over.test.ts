import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { systemClock } from '@nodepool/zk-protocol';
import { silentLogger } from '@nodepool/core';
import { afterEach, describe, expect, it } from 'vitest';
import { takeOver } from './take-over.js';

const children: ReturnType<typeof spawn>[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** A process whose command line ends with the name. */
async function startProcess(name: string): Promise<ReturnType<typeof spawn>> {
  const script = "process.on('SIGQUIT', () => process.exit(0)); setInterval(() => {}, 1e6); console.log('up')";
  const child = spawn(process.execPath, ['-e', script, name], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  await once(child.stdout, 'data');
  return child;
}

const options = (whenConnected: () => Promise<void> = () => Promise.resolve()) => ({
  ...{ name: 'nodepool-launcher', clock: systemClock, logger: silentLogger },
  zk: { whenConnected },
});

describe('a take-over', () => {
  it('ends the other process, and returns when it is gone', async () => {
    const child = await startProcess('nodepool-launcher');
    const ended = once(child, 'exit');

    await takeOver(Number(child.pid), options());

    expect(await ended).toEqual([0, null]);
  });

  it('disturbs no other program', async () => {
    const child = await startProcess('postgres');

    await expect(takeOver(Number(child.pid), options())).rejects.toThrow(
      `process ${child.pid} is not taken over: its command line does not name nodepool-launcher`,
    );
    expect(child.exitCode).toBeNull();
  });

  it('does not end the other process before it has reached ZooKeeper itself', async () => {
    const child = await startProcess('nodepool-launcher');

    const failed = takeOver(
      Number(child.pid),
      options(() => Promise.reject(new Error('no ZooKeeper'))),
    );

    await expect(failed).rejects.toThrow('no ZooKeeper');
    expect(child.exitCode).toBeNull();
  });

  it('of a process that does not run is refused', async () => {
    const child = await startProcess('nodepool-launcher');
    child.kill('SIGKILL');
    await once(child, 'exit');

    await expect(takeOver(Number(child.pid), options())).rejects.toThrow('no such process runs');
  });
});
