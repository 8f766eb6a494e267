import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** A program in a process group of its own, as CI systems start the steps of a job. */
export class Program {
  /** All that it wrote so far, to both streams. */
  output = '';
  stdout = '';
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;

  /** Starts it. @param input - its standard input; default: none */
  constructor(program: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv, input = '') {
    this.#child = spawn(program, args, { cwd, env, detached: true, stdio: 'pipe' });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
      this.output += text;
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    this.#child.stdin?.on('error', () => undefined).end(input); // a program need not read it
    this.#ended = once(this.#child, 'close').then(() => undefined);
  }

  /** Resolves once it has ended and all its output is read. @returns its exit status, or the signal that ended it */
  async end(): Promise<number | string> {
    await this.#ended;
    return this.#child.exitCode ?? this.#child.signalCode ?? 'unknown';
  }

  /** Sends a signal to it and all that it has started. Safe to repeat. */
  signal(name: NodeJS.Signals): void {
    try {
      process.kill(-(this.#child.pid ?? 0), name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}
