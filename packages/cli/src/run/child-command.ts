import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import type { Clock } from '@nodepool/zk-protocol';
import { tell } from '../command/context.js';
import { CliError } from '../command/errors.js';
import type { Interrupts } from '../terminal/interrupts.js';
import type { Lease } from '../lease/lease.js';
import { GroupSignals } from './group-signals.js';
import type { GroupSignal } from './group-signals.js';

const NOT_FOUND_STATUS = 127;
const NOT_EXECUTABLE_STATUS = 126;
const LOST_STATUS = 1;
/** What a command whose nodes are lost gets to end by itself. */
const KILL_AFTER_MS = 5000;

/** A command to run with nodes. */
export interface ChildCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What a command runs under. */
export interface CommandSurroundings {
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
      tell(`nodepool: cannot run ${program}: ${error.message}`);
      resolve(error.code === 'ENOENT' ? NOT_FOUND_STATUS : NOT_EXECUTABLE_STATUS);
    });
    child.once('exit', (code, signal) => resolve(statusOf(code, signal)));
  });
}

/** Spawning throws what the kernel refuses at once, such as a name with a null byte or too many arguments. */
function start({ program, args, env }: ChildCommand): ChildProcess | number {
  try {
    return spawn(program, args, { stdio: 'inherit', env });
  } catch (error) {
    tell(`nodepool: cannot run ${program}: ${error instanceof Error ? error.message : String(error)}`);
    return NOT_EXECUTABLE_STATUS;
  }
}

/** Ends the command when its nodes are not ours any more. @returns to be called when it has ended */
function endWhenLost(child: ChildProcess, { clock, lease }: CommandSurroundings): () => void {
  let cancelKill = () => {};
  const onLost = () => {
    tell('nodepool: the nodes are no longer ours: a lock or the session with ZooKeeper is gone; ending the command');
    child.kill('SIGTERM');
    cancelKill = clock.setTimer(KILL_AFTER_MS, () => child.kill('SIGKILL'));
  };
  lease.lost.addEventListener('abort', onLost, { once: true });
  return () => {
    lease.lost.removeEventListener('abort', onLost);
    cancelKill();
  };
}

/**
 * Runs a command while the nodes are held, and passes signals on that the command has not got by itself.
 * @returns its exit status as a shell would give it; 1 when the nodes were lost meanwhile
 * @throws the reason why it must not be started: an interrupt, or nodes that are lost already
 */
export async function runChildCommand(command: ChildCommand, surroundings: CommandSurroundings): Promise<number> {
  const { clock, lease, interrupts } = surroundings;
  const group = await GroupSignals.start(clock);
  try {
    // From here to the start nothing waits, so no signal and no loss can come between.
    interrupts.signal.throwIfAborted();
    if (lease.lost.aborted) throw new CliError('The nodes were lost before the command could be started');
    const child = start(command);
    if (typeof child === 'number') return child;
    interrupts.divert((signal) => {
      void group.wasForGroup(signal as GroupSignal).then((forGroup) => forGroup || child.kill(signal));
    });
    const done = endWhenLost(child, surroundings);
    const status = await waitForExit(child, command.program);
    done();
    return lease.lost.aborted ? LOST_STATUS : status;
  } finally {
    interrupts.divert(undefined);
    group.stop();
  }
}
