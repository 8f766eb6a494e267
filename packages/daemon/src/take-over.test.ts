import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { systemClock } from '@nodepool/zk-protocol';
import { silentLogger } from '@nodepool/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { COMMON_TO_ARGV, type CommandLine, type CommonArguments } from './arguments.js';
import { takeOver, type TakeOverOptions } from './take-over.js';

const COMMAND_LINE: CommandLine<CommonArguments> = {
  ...{ name: 'nodepool-launcher', does: 'Serves.', pidFile: '/none', options: {}, refused: {} },
  toArguments: (common) => common,
  toArgv: COMMON_TO_ARGV,
};

/** The built module, for a process that ends. */
const MODULE = new URL('../dist/take-over.js', import.meta.url).href;

const children: ReturnType<typeof spawn>[] = [];
let directory: string;
let script: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nodepool-take-over-'));
  script = join(directory, 'nodepool-launcher.js');
  await writeFile(
    script,
    "process.on('SIGQUIT', () => process.exit(0)); setInterval(() => {}, 1e6); console.log('up');",
  );
  await writeFile(join(directory, 'a.yaml'), '');
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await rm(directory, { recursive: true });
});

/** A process that has written its first words. */
async function startProcess(program: string, args: readonly string[]): Promise<ReturnType<typeof spawn>> {
  const child = spawn(program, args, { cwd: directory, stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  await once(child.stdout, 'data');
  return child;
}

const startLauncher = (...args: string[]) => startProcess(process.execPath, ['--no-warnings', script, ...args]);

const take = (child: ReturnType<typeof spawn>, options: Partial<TakeOverOptions<CommonArguments>> = {}) =>
  takeOver(Number(child.pid), {
    ...{ commandLine: COMMAND_LINE, configFile: join(directory, 'a.yaml'), clock: systemClock, logger: silentLogger },
    zk: { whenConnected: () => Promise.resolve() },
    ...options,
  });

/** Expects that the process is not taken over, and has not got a signal. */
async function expectRefusal(child: ReturnType<typeof spawn>, refused: Promise<unknown>, why: string): Promise<void> {
  await expect(refused).rejects.toThrow(why);
  expect([child.exitCode, child.signalCode]).toEqual([null, null]);
}

describe('a take-over', () => {
  it('ends the other process, and returns when it is gone', async () => {
    const child = await startLauncher('-fc', 'a.yaml');
    const ended = once(child, 'exit');

    const serves = await take(child);
    serves();

    expect(await ended).toEqual([0, null]);
  });

  it('is reported as failed if this process ends before it serves', async () => {
    const child = await startLauncher('-c', 'a.yaml');
    const code = `
      import { systemClock } from '@nodepool/zk-protocol';
      import { takeOver } from '${MODULE}';
      await takeOver(${child.pid}, {
        commandLine: { name: 'nodepool-launcher', options: {}, refused: {}, toArguments: (common) => common },
        configFile: '${join(directory, 'a.yaml')}', clock: systemClock,
        logger: { info() {} }, zk: { whenConnected: () => Promise.resolve() },
      });
      process.exit(0);`;

    const successor = spawn(process.execPath, ['--input-type=module', '-e', code], {
      ...{ cwd: import.meta.dirname, stdio: ['ignore', 'inherit', 'pipe'] },
    });
    children.push(successor);
    const [stderr, exit] = await Promise.all([text(successor.stderr), once(successor, 'exit')]);

    expect(stderr).toBe(
      `nodepool-launcher: process ${child.pid} was told to end, and this one ends before it serves: start it again\n`,
    );
    expect(exit[0]).toBe(1);
  });

  it('does not end the other process before it has reached ZooKeeper itself', async () => {
    const child = await startLauncher('-c', 'a.yaml');
    const zk = { whenConnected: () => Promise.reject(new Error('no ZooKeeper')) };

    await expectRefusal(child, take(child, { zk }), 'no ZooKeeper');
  });

  it('disturbs no other program, whatever its arguments say of the launcher', async () => {
    const follower = await startProcess('tail', ['-f', script]);
    const pager = await startProcess('tail', [script, '-f']);
    const wrapper = await startProcess(process.execPath, [
      '-e',
      "console.log('up'); setInterval(() => {}, 1e6)",
      script,
    ]);

    for (const child of [follower, pager, wrapper])
      await expectRefusal(
        child,
        take(child),
        `process ${child.pid} is not taken over: it does not run nodepool-launcher`,
      );
  });

  it('does not end the launcher of another configuration', async () => {
    const child = await startLauncher('-c', 'b.yaml');

    await expectRefusal(
      child,
      take(child),
      `its configuration is ${join(directory, 'b.yaml')}, and that of this process`,
    );
  });

  it('does not end a process that only prints something', async () => {
    const child = await startLauncher('--version');

    await expectRefusal(child, take(child), 'its options are not those of a running nodepool-launcher');
  });

  it('does not end a process of another user', async () => {
    const child = await startLauncher('-c', 'a.yaml');

    await expectRefusal(child, take(child, { uid: 4711 }), 'it belongs to another user (id ');
  });

  it('of a process that does not run is refused', async () => {
    const child = await startLauncher('-c', 'a.yaml');
    child.kill('SIGKILL');
    await once(child, 'exit');

    await expect(take(child)).rejects.toThrow('no such process runs');
  });
});
