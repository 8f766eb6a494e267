import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Clock } from '@nodepool/zk-protocol';

/** Signals that a terminal or a supervisor may send to a whole process group. */
export type GroupSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/**
 * `read` ends early when a trap has run; at the end of its input there was none, and the shell ends. A shell runs its traps before it
 * continues, so the answer to a line follows all signals that came before the line.
 */
const SCRIPT = `
trap 'echo SIGINT; trapped=1' INT; trap 'echo SIGTERM; trapped=1' TERM; trap 'echo SIGHUP; trapped=1' HUP
echo ready
while trapped=; do if read -r line; then echo asked; else [ "$trapped" ] || exit 0; fi; done
`;
/** Its answer to a line. */
const ANSWER = 'asked';
/** A signal reaches all processes of a group at about the same time. */
const SAME_SIGNAL_MS = 200;

/**
 * Distinguishes signals sent to the whole process group, such as Ctrl-C in a terminal, from those sent to this process alone.
 * Node does not say who sent a signal, so a second process of the group, a shell that only waits, reports what it gets.
 */
export class GroupSignals {
  readonly #clock: Clock;
  readonly #shell: ChildProcess;
  readonly #reported: { signal: string; atMs: number }[] = [];
  readonly #ended: Promise<void>;
  #listener: () => void = () => {};
  #onAnswer: () => void = () => {};
  #last: GroupSignal | undefined;

  private constructor(clock: Clock, shell: ChildProcess) {
    this.#clock = clock;
    this.#shell = shell;
    this.#ended = new Promise((resolve) => shell.once('error', () => resolve()).once('exit', () => resolve()));
  }

  /** Resolves once signals can be distinguished; without a shell, each counts as sent to this process alone. */
  static async start(clock: Clock): Promise<GroupSignals> {
    const shell = spawn('/bin/sh', ['-c', SCRIPT], { stdio: ['pipe', 'pipe', 'ignore'] });
    const signals = new GroupSignals(clock, shell);
    shell.stdin.on('error', () => {}); // it has already ended
    shell.stdout.setEncoding('utf8');
    const ready = once(shell.stdout, 'data');
    await Promise.race([ready, signals.#ended]);
    shell.stdout.on('data', (text: string) => signals.#report(text.trim().split('\n')));
    return signals;
  }

  /** Whether the signal that has just come was sent to the whole group, so that every other process in it has it too. */
  wasForGroup(signal: GroupSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const answer = (forGroup: boolean) => {
        cancel();
        this.#listener = () => {};
        resolve(forGroup);
      };
      const cancel = this.#clock.setTimer(SAME_SIGNAL_MS, () => answer(false));
      this.#listener = () => this.#take(signal) && answer(true);
      this.#listener();
    });
  }

  /**
   * Waits until all signals that the group has had are known here. Call it when a child has ended: a signal is pending in all
   * processes of the group before one of them can end of it, but node may handle the end of the child first.
   * @returns the last one
   */
  async settle(): Promise<GroupSignal | undefined> {
    const answered = new Promise<void>((resolve) => (this.#onAnswer = resolve));
    this.#shell.stdin?.write('\n');
    await Promise.race([answered, this.#ended]);
    return this.#last;
  }

  /** Ends the other process. */
  stop(): void {
    this.#shell.kill('SIGKILL');
  }

  #report(lines: readonly string[]): void {
    for (const line of lines) {
      if (line === ANSWER) {
        this.#onAnswer();
        continue;
      }
      this.#last = line as GroupSignal;
      this.#reported.push({ signal: line, atMs: this.#clock.now() });
    }
    this.#listener();
  }

  /** Uses up a report; old ones belong to signals that were missed. */
  #take(signal: GroupSignal): boolean {
    const fresh = this.#clock.now() - 2 * SAME_SIGNAL_MS;
    const found = this.#reported.findIndex((report) => report.signal === signal && report.atMs >= fresh);
    if (found < 0) return false;
    this.#reported.splice(0, found + 1);
    return true;
  }
}
