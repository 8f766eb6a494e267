import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { commandClock } from '../command/context.js';
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
  const command = { program: 'true', args: [], env: process.env, directory: `${tmpdir()}/nodepool-run-test` };
  const lease = { lost: new AbortController().signal };

  await expect(runChildCommand(command, { clock: commandClock, lease, interrupts })).rejects.toThrow('EMFILE');

  const [guard] = started;
  if (guard?.exitCode === null) await new Promise((resolve) => guard.once('exit', resolve));
  expect(guard?.exitCode).toBe(0);
});
