import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { NodepoolError } from '@nodepool/zk-protocol';
import type { CommandLine, CommonArguments } from './arguments.js';

/** Set in the environment of the detached process. */
const DAEMON_MARK = 'NODEPOOL_DAEMON';

/** Message from the detached process to the waiting one. */
type DaemonMessage = { started: true } | { failed: string };

function isDaemonMessage(message: unknown): message is DaemonMessage {
  return typeof message === 'object' && message !== null && ('started' in message || 'failed' in message);
}

/** Whether this process is the detached one. */
export function isDaemon(env: Readonly<Record<string, string | undefined>>): boolean {
  return env[DAEMON_MARK] !== undefined && process.send !== undefined;
}

/** The command line of the detached process: all arguments again, with absolute paths, as it runs in `/`. */
export function daemonArgv<Args extends CommonArguments>({ toArgv }: CommandLine<Args>, args: Args): string[] {
  return Object.values<(args: Args) => readonly string[]>(toArgv).flatMap((toWords) => toWords(args));
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
 * Starts the same program detached from the terminal. Waits until it has read its configuration and holds the pid file, so
 * that errors are shown on the terminal.
 * @throws NODEPOOL_DAEMON with the message of the detached process
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

/** Reports the result of the start to the waiting process, then disconnects. Does nothing outside a daemon. */
export function reportToTerminal(message: DaemonMessage): Promise<void> {
  return new Promise((resolve) => {
    if (!process.connected || !process.send) {
      resolve();
      return;
    }
    // the waiting process may have been killed, so a failure to send is ignored
    process.send(message, () => {
      if (process.connected) process.disconnect();
      resolve();
    });
  });
}
