import { spawn } from 'node:child_process';
import type { ChildProcess, StdioOptions } from 'node:child_process';
import { constants } from 'node:os';
import type { Writable } from 'node:stream';
import type { Clock } from '@nodepool/zk-protocol';
import { inform } from '../command/context.js';
import { CliError, describeError } from '../command/errors.js';
import type { Interrupts } from '../terminal/interrupts.js';
import type { Lease } from '../lease/lease.js';
import { CommandGuard } from './command-guard.js';
import { GroupSignals } from './group-signals.js';
import type { GroupSignal } from './group-signals.js';

const NOT_FOUND_STATUS = 127;
const NOT_EXECUTABLE_STATUS = 126;
const LOST_STATUS = 1;
/** One attempt to stop may arrive as several signals: from the terminal, a supervisor, a parent that forwards them. */
const SAME_STOP_MS = 200;

/** A command to run with nodes. */
export interface ChildCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Missing: that of this process. */
  readonly stdout?: Writable;
  /** Directory of files for the command; removed if this process is killed. */
  readonly directory: string;
  /** Printed if this process is killed. */
  readonly killedText: string;
  /** Forwards a signal that was sent to this process alone; missing: to the program. @returns whether it was forwarded */
  readonly passSignal?: (signal: NodeJS.Signals) => Promise<boolean>;
}

/** Lease and signals that a command runs under. */
export interface ChildContext {
  readonly clock: Clock;
  readonly lease: Pick<Lease, 'lost'>;
  readonly interrupts: Interrupts;
}

function statusOf(code: number | null, signal: NodeJS.Signals | null): number {
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}

/** Exit status as a shell would give it. */
function waitForExit(child: ChildProcess, program: string): Promise<number> {
  return new Promise((resolve) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      inform(`nodepool: cannot run ${program}: ${error.message}`);
      resolve(error.code === 'ENOENT' ? NOT_FOUND_STATUS : NOT_EXECUTABLE_STATUS);
    });
    child.once('exit', (code, signal) => resolve(statusOf(code, signal)));
  });
}

/** Spawning throws what the kernel refuses at once, such as a name with a null byte or too many arguments. */
function start({ program, args, env, stdout }: ChildCommand, guard: CommandGuard): ChildProcess | number {
  try {
    const stdio: StdioOptions = ['inherit', stdout ?? 'inherit', 'inherit'];
    const child = spawn(program, args, { stdio, env: { ...env, ...guard.env } });
    guard.watch(child.pid);
    return child;
  } catch (error) {
    inform(`nodepool: cannot run ${program}: ${error instanceof Error ? error.message : String(error)}`);
    return NOT_EXECUTABLE_STATUS;
  }
}

/** Ends the command with all that it has started, instead of waiting for its own end. */
class Ending {
  readonly #guard: CommandGuard;
  #ending: Promise<void> | undefined;
  #status: number | undefined;

  constructor(guard: CommandGuard) {
    this.#guard = guard;
  }

  /** Only the first call counts. @param status - exit status to report */
  begin(why: string, status: number): void {
    if (this.#ending) return;
    inform(`nodepool: ${why}; ending the command`);
    this.#status = status;
    this.#ending = this.#guard.end();
  }

  /** Called at the command's exit: waits until its other processes have ended. @returns the status, if ending has started */
  async finish(): Promise<number | undefined> {
    await this.#ending;
    return this.#status;
  }
}

/**
 * Ends the command when its nodes are lost, or when its guard was killed.
 * @returns stops that
 */
function endWhenLost(ending: Ending, guard: CommandGuard, lease: ChildContext['lease']): () => void {
  const onLost = () => {
    const why = describeError(lease.lost.reason).replace(/^The /, 'the ');
    ending.begin(why, LOST_STATUS);
  };
  lease.lost.addEventListener('abort', onLost, { once: true });
  guard.onKilled(() => ending.begin('the process that ends the command with nodepool was killed', LOST_STATUS));
  return () => lease.lost.removeEventListener('abort', onLost);
}

/** Forwards the first signal to the command, and ends it at the second one. @returns the receiver of signals */
function signalReceiver(
  { passSignal }: ChildCommand,
  child: ChildProcess,
  group: GroupSignals,
  ending: Ending,
  clock: Clock,
): (signal: NodeJS.Signals) => void {
  let firstMs: number | undefined;
  return (signal) => {
    const nowMs = clock.now();
    void group.wasForGroup(signal as GroupSignal).then(async (forGroup) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      // A program that reads from the terminal, such as a shell, may use each Ctrl-C itself.
      const isForCommand = forGroup && signal === 'SIGINT' && process.stdin.isTTY;
      if (!isForCommand) firstMs ??= nowMs;
      if (!isForCommand && firstMs !== undefined && nowMs - firstMs > SAME_STOP_MS)
        ending.begin('a second signal came', statusOf(null, signal));
      else if (!forGroup && (await passSignal?.(signal)) !== true) child.kill(signal);
    });
  };
}

/**
 * Runs a command while the nodes are held, and forwards signals that the command has not received itself.
 * @returns its exit status as a shell would give it; 1 if it was ended because the nodes were lost, and 128 + N if a second signal ended it
 * @throws the reason why it must not be started: an interrupt, or nodes that are lost already
 */
export async function runChildCommand(command: ChildCommand, context: ChildContext): Promise<number> {
  const guard = await CommandGuard.start(command.directory, command.env['PATH'], command.killedText);
  try {
    return await runGuarded(command, context, guard);
  } finally {
    guard.dismiss();
  }
}

async function runGuarded(command: ChildCommand, context: ChildContext, guard: CommandGuard): Promise<number> {
  const { clock, lease, interrupts } = context;
  const group = await GroupSignals.start(clock);
  try {
    // Nothing waits from here to the start, so neither a signal nor a loss can come between.
    interrupts.signal.throwIfAborted();
    if (lease.lost.aborted) throw new CliError('The nodes were lost before the command could be started');
    const child = start(command, guard);
    if (typeof child === 'number') return child;
    const ending = new Ending(guard);
    interrupts.divert(signalReceiver(command, child, group, ending, clock));
    const unwatch = endWhenLost(ending, guard, lease);
    const status = await waitForExit(child, command.program);
    unwatch();
    if (await group.settle()) await interrupts.first;
    return (await ending.finish()) ?? status;
  } finally {
    interrupts.divert(undefined);
    group.stop();
  }
}
