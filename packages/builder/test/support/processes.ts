import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { World } from './world.js';

/** The program. */
export const BUILDER = fileURLToPath(new URL('../../bin/nodepool-builder.js', import.meta.url));

/** Processes that a test has started; call {@link Processes.end} after it. */
export class Processes {
  readonly #children: ChildProcess[] = [];

  /** Ends the process with the others. */
  add(child: ChildProcess): ChildProcess {
    this.#children.push(child);
    return child;
  }

  /** The builder of this world in a process of its own, without its web application. */
  async builder(of: World): Promise<ChildProcess> {
    const args = [BUILDER, '-f', '-c', await of.processConfig(), '--no-webapp', '--drain-timeout', '10'];
    return this.add(spawn(process.execPath, args, { stdio: 'ignore', env: { ...process.env, TMPDIR: of.dir } }));
  }

  /** The builder with its web application, in the folder of this world. @param more - further arguments */
  async webBuilder(of: World, ...more: string[]): Promise<ChildProcess> {
    const args = [BUILDER, '-f', '-c', await of.processConfig(), '--drain-timeout', '10', ...more];
    const env = { ...process.env, TMPDIR: of.dir };
    return this.add(spawn(process.execPath, args, { stdio: 'ignore', cwd: of.dir, env }));
  }

  /** Kills every process that still runs, and waits until it has ended. */
  async end(): Promise<void> {
    await Promise.all(this.#children.splice(0).map(kill));
  }
}

/** Kills a process and waits until it has ended, if it still runs. */
export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
