import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { NodepoolError } from '@nodepool/zk-protocol';
import type { CommandLine, CommonArguments } from './arguments.js';

/** Set in the environment of the detached process. */
const DAEMON_MARK = 'NODEPOOL_DAEMON';

/** What the detached process tells the one that waits in the terminal. */
type DaemonMessage = { started: true } | { failed: string };

function isDaemonMessage(message: unknown): message is DaemonMessage {
  return typeof message === 'object' && message !== null && ('started' in message || 'failed' in message);
}

/** Whether this process is the detached one. */
export function isDaemon(env: Readonly<Record<string, string | undefined>>): boolean {
  return env[DAEMON_MARK] !== undefined && process.send !== undefined;
}

/** The command line of the detached process: says all of it again. Its paths are absolute, as it runs in `/`. */
export function daemonArgv<Args extends CommonArguments>({ toArgv }: CommandLine<Args>, args: Args): string[] {
  return Object.values<(args: Args) => readonly string[]>(toArgv).flatMap((say) => say(args));
}

function waitForReport(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.on('message', (message: unknown) => {
      if (!isDaemonMessage(message)) return;
      if ('started' in message) resolve();
      else reject(new NodepoolError('NODEPOOL_DAEMON', message.failed));
    });
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      const how = signal === null ? `status ${code}` : signal;
      const text = `the daemon ended with ${how} before it was ready; start it with -f to see why`;
      reject(new NodepoolError('NODEPOOL_DAEMON', text));
    });
  });
}

/**
 * Starts the same program detached from the terminal and waits until it has read its configuration and holds the pid
 * file, so that an error can still be shown.
 * @throws NODEPOOL_DAEMON with the detached process's own words
 */
export async function detach(script: string, argv: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, [...process.execArgv, script, ...argv], {
    cwd: '/',
    detached: true,
    env: { ...process.env, [DAEMON_MARK]: '1' },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  try {
    await waitForReport(child);
  } finally {
    if (child.connected) child.disconnect();
    child.unref();
  }
}

/** Tells the waiting process how the start went; it is left unchanged from then on. Does nothing outside a daemon. */
export function reportToTerminal(message: DaemonMessage): Promise<void> {
  return new Promise((resolve) => {
    if (!process.connected || !process.send) {
      resolve();
      return;
    }
    // A terminal that is gone cannot be told anything, so the error of sending is of no interest.
    process.send(message, () => {
      if (process.connected) process.disconnect();
      resolve();
    });
  });
}
