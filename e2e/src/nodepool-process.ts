import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SOON_MS } from './soon.js';

/** The program as it is installed. */
export const NODEPOOL_PROGRAM = fileURLToPath(new URL('../../packages/cli/bin/nodepool.js', import.meta.url));
const STDIO: StdioOptions = ['pipe', 'pipe', 'pipe'];
/** A sleep may also be a short wait for a file or a helper thread: so many looks in a row, 5 ms apart. */
const LOOKS_ASLEEP = 5;
const running = new Set<ChildProcess>();

process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** `nodepool` as a process of its own. */
export class NodepoolProcess {
  stdout = '';
  stderr = '';
  readonly #ended: Promise<void>;

  private constructor(private readonly child: ChildProcess) {
    running.add(child);
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.#ended = once(child, 'close').then(() => void running.delete(child));
  }

  /** Starts it with these arguments, in a process group of its own. @param env - further environment variables @param cwd - default: that of the test */
  static start(args: readonly string[], env: Readonly<Record<string, string>> = {}, cwd?: string): NodepoolProcess {
    const options = { stdio: STDIO, detached: true, env: { ...process.env, ...env }, cwd };
    return new NodepoolProcess(spawn(process.execPath, [NODEPOOL_PROGRAM, ...args], options));
  }

  /** Starts it in a terminal. @param input - where its standard input comes from, e.g. `/dev/tty` */
  static startInTerminal(args: readonly string[], input: string): NodepoolProcess {
    const words = [process.execPath, NODEPOOL_PROGRAM, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`);
    const command = `exec ${words.join(' ')} < ${input}`;
    return new NodepoolProcess(
      spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], { stdio: STDIO }),
    );
  }

  /** Starts a shell with job control in a terminal. */
  static startShellInTerminal(): NodepoolProcess {
    const args = ['--quiet', '--return', '--command', 'bash --norc --noprofile -i', '/dev/null'];
    return new NodepoolProcess(spawn('script', args, { stdio: STDIO }));
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get isRunning(): boolean {
    return running.has(this.child);
  }

  /** Types into the terminal. */
  type(keys: string): void {
    this.child.stdin?.write(keys);
  }

  /** Ends its standard input. */
  endInput(): void {
    this.child.stdin?.end();
  }

  /** Sends a signal to this process alone. */
  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  /** Resolves once it has ended and all its output is read. @returns its exit status, or the signal that ended it */
  async end(): Promise<number | string> {
    await this.#ended;
    return this.child.exitCode ?? this.child.signalCode ?? 'unknown';
  }

  /** Waits for something on its stderr. @throws {Error} it ended, or did not say it in time; with what it said */
  async whenSaid(pattern: RegExp, timeoutMs = SOON_MS): Promise<void> {
    const deadline = Date.now() + timeoutMs;
    while (!pattern.test(this.stderr)) {
      const isLate = Date.now() > deadline;
      if (isLate || !this.isRunning) {
        throw new Error(`nodepool ${isLate ? 'did not say' : 'ended before it said'} ${pattern}:\n${this.stderr}`);
      }
      await delay(20);
    }
  }

  /**
   * Waits until the program sleeps, which means that it has handled all signals. A program that waits for a processor does
   * not sleep.
   */
  async whenAsleep(): Promise<void> {
    for (let looks = 0; looks < LOOKS_ASLEEP && this.isRunning; await delay(5)) {
      looks = (await this.#isAsleep()) ? looks + 1 : 0;
    }
  }

  async #isAsleep(): Promise<boolean> {
    const stat = await readFile(`/proc/${this.pid}/stat`, 'utf8').catch(() => '');
    return /^ [SZ]/.test(stat.slice(stat.lastIndexOf(')') + 1));
  }

  /** SIGKILL. Safe to repeat. */
  async kill(): Promise<void> {
    if (this.isRunning) this.child.kill('SIGKILL');
    await this.#ended;
  }
}
