import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { World } from './world.js';

/** Path of the builder program. */
export const BUILDER = fileURLToPath(new URL('../../bin/nodepool-builder.js', import.meta.url));

/** Processes started by a test. Call {@link Processes.end} after it. */
export class Processes {
  readonly #children: ChildProcess[] = [];

  /** Registers a process to be killed by {@link Processes.end}. */
  add(child: ChildProcess): ChildProcess {
    this.#children.push(child);
    return child;
  }

  /** Starts the builder of this world in a separate process, without its web application. */
  async builder(of: World): Promise<ChildProcess> {
    const args = [BUILDER, '-f', '-c', await of.processConfig(), '--no-webapp', '--drain-timeout', '10'];
    return this.add(spawn(process.execPath, args, { stdio: 'ignore', env: { ...process.env, TMPDIR: of.dir } }));
  }

  /** Starts the builder with its web application, in the directory of this world. @param more - further arguments */
  async webBuilder(of: World, ...more: string[]): Promise<ChildProcess> {
    const args = [BUILDER, '-f', '-c', await of.processConfig(), '--drain-timeout', '10', ...more];
    const env = { ...process.env, TMPDIR: of.dir };
    return this.add(spawn(process.execPath, args, { stdio: 'ignore', cwd: of.dir, env }));
  }

  /** Kills all remaining processes and waits until they have exited. */
  async end(): Promise<void> {
    await Promise.all(this.#children.splice(0).map(kill));
  }
}

/** Kills a process and waits until it has exited. */
export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
