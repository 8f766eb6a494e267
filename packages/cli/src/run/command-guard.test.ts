import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { CommandGuard } from './command-guard.js';
import { readProcesses } from './process-table.js';

const MODULE = fileURLToPath(new URL('../../dist/run/command-guard.js', import.meta.url));

let directory: string;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'nodepool-guard-'))));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** A command with the environment of its guard. */
function startCommand({ env }: CommandGuard): ChildProcess {
  const command = spawn('sleep', ['1000'], { env: { PATH: process.env['PATH'], ...env }, stdio: 'ignore' });
  onTestFinished(() => void command.kill('SIGKILL'));
  return command;
}

/** A guard, and its pid: it is the process that appears with it. */
async function startGuard(): Promise<{ guard: CommandGuard; pid: number }> {
  const before = new Set((await readProcesses('')).map(({ pid }) => pid));
  const guard = await CommandGuard.start(directory, process.env['PATH'], 'was killed');
  const children = (await readProcesses('')).filter(
    ({ pid, parentPid }) => parentPid === process.pid && !before.has(pid),
  );
  expect(children).toHaveLength(1);
  return { guard, pid: children[0]?.pid ?? 0 };
}

const isRunning = async (wanted: number) => (await readProcesses('')).some(({ pid }) => pid === wanted);

describe('a guard', () => {
  it('ends the command when its nodes are lost, and removes its files', async () => {
    const { guard } = await startGuard();
    const command = startCommand(guard);
    const ended = once(command, 'exit');
    guard.watch(command.pid);

    await guard.end();

    expect((await ended)[1]).toBe('SIGTERM');
    expect(existsSync(directory)).toBe(false);
  });

  it('touches nothing once it is dismissed', async () => {
    const { guard, pid } = await startGuard();
    const command = startCommand(guard);
    guard.watch(command.pid);

    guard.dismiss();
    await expect.poll(() => isRunning(pid)).toBe(false);

    expect([command.exitCode, command.signalCode]).toEqual([null, null]);
    expect(existsSync(directory)).toBe(true);
  });

  it('reports that it was killed, after which its processes are ended without it', async () => {
    const { guard, pid } = await startGuard();
    const command = startCommand(guard);
    const ended = once(command, 'exit');
    guard.watch(command.pid);

    const killed = new Promise<void>((resolve) => guard.onKilled(resolve));
    process.kill(pid, 'SIGKILL');
    await killed;
    await guard.end();

    expect((await ended)[1]).toBe('SIGTERM');
  });

  it('reports no kill after its dismissal', async () => {
    const { guard, pid } = await startGuard();
    const told: string[] = [];
    guard.onKilled(() => told.push('killed'));

    guard.dismiss();
    await expect.poll(() => isRunning(pid)).toBe(false);

    expect(told).toEqual([]);
  });

  it('ends the command and removes its files when the process that started it is killed', async () => {
    const program = `
      const { CommandGuard } = await import(${JSON.stringify(MODULE)});
      const { spawn } = await import('node:child_process');
      const guard = await CommandGuard.start(${JSON.stringify(directory)}, process.env.PATH, 'nodepool ssh was killed');
      const command = spawn('sleep', ['1000'], { env: { ...process.env, ...guard.env }, stdio: 'ignore' });
      guard.watch(command.pid);
      console.log(command.pid);`;
    const owner = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    onTestFinished(() => void owner.kill('SIGKILL'));
    const said: string[] = [];
    owner.stderr.on('data', (chunk: Buffer) => said.push(chunk.toString()));
    const [chunk] = (await once(owner.stdout, 'data')) as [Buffer];
    const command = Number(chunk.toString());

    owner.kill('SIGKILL');
    await expect.poll(() => existsSync(directory)).toBe(false);

    expect(await isRunning(command)).toBe(false);
    expect(said.join('')).toContain('nodepool: nodepool ssh was killed\n');
  });
});
