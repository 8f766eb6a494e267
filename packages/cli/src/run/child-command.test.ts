import { patientClock } from '@nodepool/zk-protocol';
import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Interrupts } from '../terminal/interrupts.js';
import { expect, it, onTestFinished } from 'vitest';
import { runChildCommand } from './child-command.js';

const original = childProcess.spawn;

/** Lets shells fail to start, as when the system has no file left. @returns the other processes that were started */
function refuseShells() {
  const started: childProcess.ChildProcess[] = [];
  childProcess.spawn = ((program: string, ...rest: [string[], childProcess.SpawnOptions]) => {
    if (program === '/bin/sh') throw Object.assign(new Error('spawn /bin/sh EMFILE'), { code: 'EMFILE' });
    const child = original(program, ...rest);
    started.push(child);
    return child;
  }) as typeof original;
  syncBuiltinESMExports();
  onTestFinished(() => {
    childProcess.spawn = original;
    syncBuiltinESMExports();
    for (const child of started) child.kill('SIGKILL');
  });
  return started;
}

it('leaves no process behind when the one that watches signals cannot be started', async () => {
  const started = refuseShells();
  const interrupts = new Interrupts();
  onTestFinished(() => interrupts.dispose());
  const command = {
    program: 'true',
    args: [],
    env: process.env,
    directory: `${tmpdir()}/nodepool-run-test`,
    killedText: '',
  };
  const lease = { lost: new AbortController().signal };

  await expect(runChildCommand(command, { clock: patientClock, lease, interrupts })).rejects.toThrow('EMFILE');

  const [guard] = started;
  if (guard?.exitCode === null) await new Promise((resolve) => guard.once('exit', resolve));
  expect(guard?.exitCode).toBe(0);
});

it('ends a command that ignores signals at the second one, with the status of that signal', async () => {
  const interrupts = new Interrupts();
  const directory = mkdtempSync(join(tmpdir(), 'nodepool-run-test-'));
  const log = mkdtempSync(join(tmpdir(), 'nodepool-run-log-'));
  onTestFinished(() => {
    interrupts.dispose();
    for (const each of [directory, log]) rmSync(each, { recursive: true, force: true });
  });
  const file = join(log, 'log');
  writeFileSync(file, '');
  const script = `trap 'echo INT >>"$1"' INT; echo up >>"$1"; while :; do sleep 0.05; done`;
  const command = { program: 'sh', args: ['-c', script, 'sh', file], env: process.env, directory, killedText: '' };
  const lease = { lost: new AbortController().signal };

  const ended = runChildCommand(command, { clock: patientClock, lease, interrupts });
  await expect.poll(() => readFileSync(file, 'utf8')).toBe('up\n');
  process.kill(process.pid, 'SIGINT');
  await expect.poll(() => readFileSync(file, 'utf8')).toBe('up\nINT\n');
  process.kill(process.pid, 'SIGINT');

  expect(await ended).toBe(130);
  expect(readFileSync(file, 'utf8')).toBe('up\nINT\n');
});
