import { spawn, type ChildProcess } from 'node:child_process';
import { openSync, closeSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

const running = new Set<ProcessGroup>();
let hasHooks = false;

/** Options of a process group. */
export interface GroupOptions {
  readonly name: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly logFile: string;
}

/** A service and all its child processes; ends with this process, even if that is killed. */
export class ProcessGroup {
  readonly #options: GroupOptions;
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  #isRunning = true;

  constructor(options: GroupOptions) {
    endWithUs();
    this.#options = options;
    const log = openSync(options.logFile, 'a');
    // the kernel kills the main process when this process is killed; uwsgi and the like then end their workers
    const [program = '', ...args] = ['/usr/bin/setpriv', '--pdeathsig', 'KILL', ...options.command];
    this.#child = spawn(program, args, { detached: true, stdio: ['ignore', log, log], env: { ...options.env } });
    closeSync(log);
    running.add(this);
    this.#exited = new Promise((resolve) => {
      const onEnd = (): void => {
        this.#isRunning = false;
        running.delete(this);
        resolve();
      };
      this.#child.once('exit', onEnd);
      this.#child.once('error', onEnd);
    });
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Last lines of its output. */
  get lastWords(): string {
    return readFileSync(this.#options.logFile, 'utf8').slice(-3_000);
  }

  /** Sends a signal to the whole group. */
  signal(name: NodeJS.Signals): void {
    if (this.#child.pid === undefined) return;
    try {
      process.kill(-this.#child.pid, name);
    } catch {
      // it has already ended
    }
  }

  /** Stops the group; kills it after a timeout. */
  async stop(patienceMs = 8_000): Promise<void> {
    if (this.#isRunning) {
      this.signal('SIGCONT');
      this.signal('SIGTERM');
      await Promise.race([this.#exited, pause(patienceMs, undefined, { ref: false })]);
    }
    this.signal('SIGKILL'); // includes child processes
    await this.#exited;
    while (this.#hasMembers) await pause(20); // child processes hold its port until they end
  }

  /** Whether any process of the group still exists, including one that is ending. */
  get #hasMembers(): boolean {
    if (this.#child.pid === undefined) return false;
    try {
      return process.kill(-this.#child.pid, 0);
    } catch {
      return false;
    }
  }
}

function endWithUs(): void {
  if (hasHooks) return;
  hasHooks = true;
  process.on('exit', () => {
    for (const group of running) group.signal('SIGKILL');
  });
}
