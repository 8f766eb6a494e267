import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { CliError } from '../command/errors.js';
import { endProcesses } from './end-processes.js';
import { findChild } from './process-table.js';
import type { ProcessEntry } from './process-table.js';

/** From `src` as well as from `dist`. */
const PROGRAM = fileURLToPath(new URL('../../dist/run/command-guard-main.js', import.meta.url));

/**
 * A process that ends a command with everything it has started when its nodes are lost, and when this process is killed:
 * the guard reads a pipe, which the system closes with this process, whatever ends it. It has a session of its own, so
 * that no signal of the terminal reaches it, while the command stays in the terminal's foreground.
 */
export class CommandGuard {
  /** Environment of the command. It marks all its processes, also after their parents have ended. */
  readonly env: Readonly<Record<string, string>>;
  readonly #marker: string;
  readonly #process: ChildProcess;
  readonly #ended: Promise<void>;
  #root: Promise<ProcessEntry | undefined> | undefined;
  #isDismissed = false;

  private constructor(marker: string, guard: ChildProcess) {
    this.#marker = marker;
    this.#process = guard;
    this.#ended = new Promise((resolve) => guard.once('exit', () => resolve()));
    const [name = '', value = ''] = marker.split('=');
    this.env = { [name]: value };
  }

  /**
   * Starts it.
   * @param directory - what it removes when this process is killed
   * @param killedText - what it prints then
   * @throws CliError no process can be started
   */
  static async start(directory: string, path: string | undefined, killedText: string): Promise<CommandGuard> {
    const marker = `NODEPOOL_RUN_${randomUUID().replaceAll('-', '')}=1`;
    const guard = spawn(process.execPath, [PROGRAM, marker, directory, killedText], {
      ...{ cwd: '/', detached: true, env: { PATH: path } },
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    try {
      await once(guard, 'spawn');
    } catch (error) {
      throw new CliError('Cannot start the process that ends the command with nodepool', { cause: error });
    }
    guard.stdin?.on('error', () => {}); // it has ended: `onKilled` reports that
    return new CommandGuard(marker, guard);
  }

  /** Names the command. Where environments cannot be read, the guard finds the command's processes by their parents. */
  watch(pid: number | undefined): void {
    if (pid === undefined) return;
    this.#root = findChild(pid, process.pid);
    this.#root.catch(() => undefined); // reported by `end`, if that needs it
    this.#send(`command ${pid}`);
  }

  /** Calls `report` if the guard is killed. */
  onKilled(report: () => void): void {
    void this.#ended.then(() => {
      if (!this.#isDismissed) report();
    });
  }

  /** Ends the command. @returns when all its processes have ended; the guard names those that cannot be ended */
  async end(): Promise<void> {
    this.#isDismissed = true;
    this.#send('end');
    await this.#ended;
    if (this.#process.exitCode !== 0) await endProcesses({ marker: this.#marker, root: await this.#root });
  }

  /** Lets the guard go; the command has ended. */
  dismiss(): void {
    this.#isDismissed = true;
    this.#send('done');
  }

  #send(line: string): void {
    this.#process.stdin?.write(`${line}\n`);
  }
}
