import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { NodepoolError, systemClock } from '@nodepool/zk-protocol';
import { parseArguments, UsageError } from './arguments.js';
import type { LauncherArguments } from './arguments.js';
import { detach, isDaemon, reportToTerminal } from './daemon.js';
import { boundHeapGrowth } from './heap-growth.js';
import { waitForPidFile } from './pid-file.js';
import { installSignals } from './signals.js';
import type { SignalActions } from './signals.js';

const USAGE_STATUS = 2;
const FAILURE_STATUS = 1;
/** Timers of the clock do not keep a process alive; this one does while there is nothing else yet. */
const KEEP_ALIVE_MS = 2 ** 30;

function readVersion(): string {
  const manifest = createRequire(import.meta.url)('../package.json') as { version: string };
  return manifest.version;
}

function describeError(error: unknown): string {
  if (error instanceof NodepoolError) return error.message;
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

async function fail(error: unknown): Promise<never> {
  const message = describeError(error);
  await reportToTerminal({ failed: message });
  const hint = error instanceof UsageError ? "\nTry 'nodepool-launcher --help'." : '';
  process.stderr.write(`nodepool-launcher: ${message}${hint}\n`);
  process.exit(error instanceof UsageError ? USAGE_STATUS : FAILURE_STATUS);
}

/** Signals that arrive before there is a service to act on them. */
function earlyActions(): SignalActions {
  const exit = () => process.exit(0);
  return { stop: exit, stopNow: exit, reload: () => {}, dump: () => {} };
}

async function start(args: LauncherArguments, version: string): Promise<void> {
  boundHeapGrowth(process.execArgv);
  let actions = earlyActions();
  installSignals({
    stop: (signal) => actions.stop(signal),
    stopNow: (signal) => actions.stopNow(signal),
    reload: () => actions.reload(),
    dump: () => actions.dump(),
  });
  const { runProcess } = await import('./run-process.js');
  actions = await runProcess(args, version);
  await reportToTerminal({ started: true });
}

/**
 * Runs the launcher until a signal ends it; without `-f` and `-d`, in a detached process of its own.
 * @param argv - without node and script
 */
export async function main(argv: readonly string[]): Promise<void> {
  const keepAlive = setInterval(() => {}, KEEP_ALIVE_MS);
  const version = readVersion();
  try {
    const args = await parseArguments(argv, { home: homedir(), cwd: process.cwd(), version });
    if ('print' in args) process.stdout.write(`${args.print}\n`);
    else if (args.foreground || isDaemon(process.env)) await start(args, version);
    else {
      await waitForPidFile(args.pidFile, systemClock);
      await detach(process.argv[1] ?? '', args);
    }
  } catch (error) {
    await fail(error);
  } finally {
    clearInterval(keepAlive);
  }
}
