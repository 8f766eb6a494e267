import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { endProcesses } from './end-processes.js';
import { findChild, readPs } from './process-table.js';

const MARKER = 'NODEPOOL_RUN_test=1';
/** Prints the pid of each process it makes, and keeps them running. */
const IGNORES_TERM = `trap '' TERM; echo $$; while :; do sleep 0.1; done`;

/** Starts a shell. @returns its pid, and those that it and its children print */
async function startShell(script: string, lines: number, env: Record<string, string> = {}) {
  const shell = spawn('sh', ['-c', script], { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...env } });
  const exit = once(shell, 'exit');
  const pids: number[] = [];
  for await (const text of shell.stdout.setEncoding('utf8') as AsyncIterable<string>) {
    pids.push(...text.trim().split('\n').map(Number));
    if (pids.length === lines) break;
  }
  const all = [...pids, shell.pid ?? 0];
  onTestFinished(async () => {
    for (const pid of await running(all)) process.kill(pid, 'SIGKILL');
  });
  return { pid: shell.pid ?? 0, pids, exit };
}

/** Those that run; ended ones stay in the system's table until their parents have asked for their status. */
async function running(pids: readonly number[]): Promise<number[]> {
  const all = (await readPs()).map(({ pid }) => pid);
  return pids.filter((pid) => all.includes(pid));
}

describe('endProcesses', () => {
  it('ends grandchildren that ignore SIGTERM', async () => {
    const { pid, pids } = await startShell(`sh -c "${IGNORES_TERM.replace('$$', '\\$\\$')}" & wait`, 1);

    const left = await endProcesses({ marker: MARKER, root: await findChild(pid, process.pid) });

    expect(left).toEqual([]);
    expect(await running([pid, ...pids])).toEqual([]);
  });

  it('finds a daemon in its own session by its environment, if the system allows', async () => {
    const script = `setsid sh -c "${IGNORES_TERM.replace('$$', '\\$\\$')}" &`;
    const { pids, exit } = await startShell(script, 1, { NODEPOOL_RUN_test: '1' });
    await exit;
    expect(await running(pids)).toEqual(pids);

    const left = await endProcesses({ marker: MARKER });

    expect(left).toEqual([]);
    expect(await running(pids)).toEqual(process.platform === 'linux' ? [] : pids);
  });

  it('first lets a process end by itself, also a stopped one', async () => {
    const { pid, exit } = await startShell(`trap 'exit 5' TERM; echo 1; while :; do sleep 0.01; done`, 1);
    process.kill(pid, 'SIGSTOP');

    await endProcesses({ marker: MARKER, root: await findChild(pid, process.pid) });

    expect(await exit).toEqual([5, null]);
  });

  it('finds descendants without any look at environments, as on macOS', async () => {
    const { pid, pids } = await startShell(`sh -c 'echo $$; exec sleep 1000' & wait`, 1);

    const left = await endProcesses({ marker: MARKER, root: await findChild(pid, process.pid, readPs) }, readPs);

    expect(left).toEqual([]);
    expect(await running([pid, ...pids])).toEqual([]);
  });

  it('touches no process that has got the pid of the command', async () => {
    const { pid } = await startShell('echo 1; exec sleep 1000', 1);
    const root = await findChild(pid, process.pid);
    if (!root) throw new Error('the shell has ended');

    expect(await endProcesses({ marker: MARKER, root: { ...root, started: 'earlier' } })).toEqual([]);

    expect(await running([pid])).toEqual([pid]);
  });

  it('touches no other process', async () => {
    const other = await startShell('echo 1; exec sleep 1000', 1, { NODEPOOL_RUN_other: '1' });

    expect(await endProcesses({ marker: MARKER })).toEqual([]);

    expect(await running([other.pid])).toEqual([other.pid]);
  });
});
