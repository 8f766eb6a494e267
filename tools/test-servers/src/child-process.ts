import { type ChildProcess, execFile, spawn, type StdioOptions } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';

/** Runs a short-lived program; rejects with its error output if it fails. */
export const run = promisify(execFile);

const running = new Set<ChildProcess>();
let hooksInstalled = false;

function killAll(): void {
  for (const child of running) child.kill('SIGKILL');
}

function installHooks(): void {
  if (hooksInstalled) return;
  hooksInstalled = true;
  process.on('exit', killAll);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    const onSignal = (): void => {
      killAll();
      process.removeListener(signal, onSignal);
      // A listener disables the default effect of a signal; restore it if there is no other listener.
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
    };
    process.on(signal, onSignal);
  }
}

const setpriv = ['/usr/bin/setpriv', '/bin/setpriv'].find((path) => existsSync(path));

/** A server process that ends with the test process, even if that is killed. */
export class ServerProcess {
  /** Its stdout and stderr. */
  output = '';
  /** Resolves when the process has ended. */
  readonly exited: Promise<void>;

  private constructor(readonly child: ChildProcess) {
    this.exited = new Promise((resolve) => {
      child.once('exit', () => {
        running.delete(child);
        resolve();
      });
      child.once('error', (error) => {
        this.output += `${error.message}\n`;
        running.delete(child);
        resolve();
      });
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8');
      stream?.on('data', (text: string) => (this.output += text));
    }
  }

  /**
   * Starts a program; with `ipc` it can use `process.send`. On Linux the kernel kills it when this process ends, even by
   * SIGKILL.
   */
  static start(program: string, args: readonly string[], options: { ipc?: boolean; cwd?: string } = {}): ServerProcess {
    installHooks();
    const stdio: StdioOptions = ['ignore', 'pipe', 'pipe', ...(options.ipc ? ['ipc' as const] : [])];
    const [command, argv] = setpriv ? [setpriv, ['--pdeathsig', 'KILL', program, ...args]] : [program, [...args]];
    const child = spawn(command, argv, { stdio, cwd: options.cwd });
    running.add(child);
    return new ServerProcess(child);
  }

  /** True until the process has ended. */
  get isRunning(): boolean {
    return running.has(this.child);
  }

  /** @throws {Error} the program could not be started */
  get pid(): number {
    if (this.child.pid === undefined) throw new Error(`${this.child.spawnfile} did not start: ${this.output}`);
    return this.child.pid;
  }

  /** Sends a signal, unless the process has ended. */
  signal(name: NodeJS.Signals): void {
    if (this.isRunning) this.child.kill(name);
  }

  /** Kills the process and waits for its end. Safe to repeat. */
  async kill(name: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.signal(name);
    await this.exited;
  }
}
