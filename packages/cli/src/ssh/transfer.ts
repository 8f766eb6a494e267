import { spawn } from 'node:child_process';
import type { ChildProcess, IOType } from 'node:child_process';
import { constants } from 'node:os';
import type { Stream } from 'node:stream';
import type { Clock } from '@nodepool/zk-protocol';
import { CliError } from '../command/errors.js';
import { GroupSignals } from '../run/group-signals.js';
import { InterruptedError } from '../terminal/interrupts.js';

/** A program that takes part in a transfer. */
export interface Step {
  readonly child: ChildProcess;
  /** Exit status as a shell would give it. */
  readonly ended: Promise<number>;
}

/**
 * Starts a program whose standard error is that of this process.
 * @param signal - ends it
 */
export function startStep(
  program: string,
  args: readonly string[],
  stdio: readonly [IOType, IOType | Stream],
  signal: AbortSignal,
): Step {
  const child = spawn(program, args, { stdio: [...stdio, 'inherit'], signal });
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', (error) => {
      if (!signal.aborted) reject(new CliError(`Cannot run ${program}: ${error.message}`, { cause: error }));
    });
    child.once('close', (code, by) => resolve(code ?? 128 + (by === null ? 0 : constants.signals[by])));
  });
  ended.catch(() => undefined); // reported where it is awaited
  return { child, ended };
}

/** How long a transfer may run. */
export interface TransferLimits {
  readonly clock: Clock;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/**
 * Runs a transfer. Ctrl-C reaches `ssh` and `tar` too, and they may end before this process notices it: that is no failed transfer.
 * @throws the error of the transfer; the signal's reason; InterruptedError a signal ended it
 */
export async function untilInterrupted(
  { clock, signal }: TransferLimits,
  transfer: () => Promise<void>,
): Promise<void> {
  signal.throwIfAborted();
  const group = await GroupSignals.start(clock);
  try {
    await transfer();
  } catch (error) {
    const interrupt = await group.settle();
    signal.throwIfAborted();
    throw interrupt === undefined ? error : new InterruptedError(interrupt);
  } finally {
    group.stop();
  }
}
