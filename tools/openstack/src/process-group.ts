import { spawn, type ChildProcess } from 'node:child_process';
import { openSync, closeSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

const running = new Set<ProcessGroup>();
let hasHooks = false;

/** How to start one. */
export interface GroupOptions {
  readonly name: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly logFile: string;
}

/** A service with whatever it forks; ends with this process, whichever way that ends. */
export class ProcessGroup {
  readonly #options: GroupOptions;
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  #isRunning = true;

  constructor(options: GroupOptions) {
    endWithUs();
    this.#options = options;
    const log = openSync(options.logFile, 'a');
    // the kernel ends the first of them when we are killed; uwsgi and the like take theirs along
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

  /** The last lines it wrote. */
  get lastWords(): string {
    return readFileSync(this.#options.logFile, 'utf8').slice(-3_000);
  }

  /** Sends a signal to all of it. */
  signal(name: NodeJS.Signals): void {
    if (this.#child.pid === undefined) return;
    try {
      process.kill(-this.#child.pid, name);
    } catch {
      // it is gone already
    }
  }

  /** Ends it, by force after a while. */
  async stop(patienceMs = 8_000): Promise<void> {
    if (this.#isRunning) {
      this.signal('SIGCONT');
      this.signal('SIGTERM');
      await Promise.race([this.#exited, pause(patienceMs, undefined, { ref: false })]);
    }
    this.signal('SIGKILL'); // also what it has forked
    await this.#exited;
    while (this.#hasMembers) await pause(20); // they hold its port until they are gone
  }

  /** Something of it is still there, be it that it is just ending. */
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
