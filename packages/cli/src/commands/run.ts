import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import { tell } from '../context.js';
import type { CliContext } from '../context.js';
import type { Interrupts } from '../interrupts.js';
import type { AcquireOptions } from '../lease/acquire.js';
import { nodeEnvironment } from '../lease/describe-lease.js';
import type { Lease } from '../lease/lease.js';
import { writeRunFiles } from '../lease/run-files.js';
import { withLease } from '../lease/with-lease.js';

const NOT_FOUND_STATUS = 127;
const NOT_EXECUTABLE_STATUS = 126;
const LOST_STATUS = 1;
/** What a command whose nodes are lost gets to end by itself. */
const KILL_AFTER_MS = 5000;

function statusOf(code: number | null, signal: NodeJS.Signals | null): number {
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}

/** Exit status as a shell would give it. */
function waitForExit(child: ChildProcess, command: string): Promise<number> {
  return new Promise((resolve) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      tell(`nodepool: cannot run ${command}: ${error.message}`);
      resolve(error.code === 'ENOENT' ? NOT_FOUND_STATUS : NOT_EXECUTABLE_STATUS);
    });
    child.once('exit', (code, signal) => resolve(statusOf(code, signal)));
  });
}

/** A terminal sends Ctrl-C to the command itself; passing it on would make it two. */
function forwardSignals(interrupts: Interrupts, child: ChildProcess): void {
  interrupts.divert((signal) => {
    if (signal === 'SIGINT' && process.stdin.isTTY) return;
    child.kill(signal);
  });
}

async function runCommand(
  context: CliContext,
  lease: Lease,
  interrupts: Interrupts,
  [command = '', ...args]: readonly string[],
): Promise<number> {
  const files = await writeRunFiles(lease.nodes);
  try {
    const child = spawn(command, args, {
      stdio: 'inherit',
      env: {
        ...context.env,
        ...nodeEnvironment(lease.requestId, lease.nodes),
        NODEPOOL_INVENTORY: files.inventoryFile,
        NODEPOOL_KNOWN_HOSTS: files.knownHostsFile,
      },
    });
    forwardSignals(interrupts, child);
    let cancelKill = () => {};
    const onLost = () => {
      tell(
        'nodepool: the nodes are no longer ours: their locks or the session with ZooKeeper are gone; ending the command',
      );
      child.kill('SIGTERM');
      cancelKill = context.clock.setTimer(KILL_AFTER_MS, () => child.kill('SIGKILL'));
    };
    lease.lost.addEventListener('abort', onLost, { once: true });
    const status = await waitForExit(child, command);
    cancelKill();
    return lease.lost.aborted ? LOST_STATUS : status;
  } finally {
    interrupts.divert(undefined);
    await files.remove();
  }
}

/** `nodepool run`: takes nodes, runs a command with them, returns them. @returns the command's exit status */
export async function run(
  context: CliContext,
  options: Omit<AcquireOptions, 'purpose'> & { command: readonly string[] },
): Promise<number> {
  const purpose = `nodepool run: ${options.command[0] ?? ''}`;
  return withLease(context, { ...options, purpose }, (lease, interrupts) =>
    runCommand(context, lease, interrupts, options.command),
  );
}
