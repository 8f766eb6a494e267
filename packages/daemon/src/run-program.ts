import { homedir } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { NodepoolError, systemClock } from '@nodepool/zk-protocol';
import { parseCommandLine, UsageError, type CommonArguments } from './arguments.js';
import { daemonArgv, detach, isDaemon, reportToTerminal } from './detach.js';
import { PID_FILE_WAIT_MS, waitForPidFile } from './pid-file.js';
import type { Program } from './program.js';
import { installSignals } from './signals.js';
import type { SignalActions } from './signals.js';
import { outliveStreams, printText } from './standard-streams.js';

const USAGE_STATUS = 2;
const FAILURE_STATUS = 1;
/** Timers of the clock do not keep a process alive; an interval does until there are sockets. */
const KEEP_ALIVE_MS = 2 ** 30;

function describeError(error: unknown): string {
  if (error instanceof NodepoolError) return error.message;
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

async function fail(name: string, error: unknown): Promise<never> {
  const message = describeError(error);
  await reportToTerminal({ failed: message });
  const hint = error instanceof UsageError ? `\nTry '${name} --help'.` : '';
  process.stderr.write(`${name}: ${message}${hint}\n`);
  process.exit(error instanceof UsageError ? USAGE_STATUS : FAILURE_STATUS);
}

function reportWait(name: string, file: string, pid: number): void {
  const waitS = PID_FILE_WAIT_MS / 1000;
  process.stderr.write(
    `${name}: pid file ${file} belongs to process ${pid}, which is running; waiting up to ${waitS} s for it to exit\n`,
  );
}

/** Handles signals that arrive before the service exists. */
function earlyActions(): SignalActions {
  const exit = () => process.exit(0);
  return { stop: exit, stopNow: exit, reload: () => {}, dump: () => {} };
}

async function start<Args extends CommonArguments>(program: Program<Args>, args: Args): Promise<void> {
  outliveStreams(program.commandLine.name);
  boundHeapGrowth(process.execArgv);
  let actions = earlyActions();
  installSignals({
    stop: (signal) => actions.stop(signal),
    stopNow: (signal) => actions.stopNow(signal),
    reload: () => actions.reload(),
    dump: () => actions.dump(),
  });
  const { runProcess } = await import('./run-process.js');
  actions = await runProcess(program, args);
  await reportToTerminal({ started: true });
}

/**
 * Runs a service until a signal ends it; without `-f` and `-d`, in a detached process.
 * @param argv - without node and script
 */
export async function runProgram<Args extends CommonArguments>(
  program: Program<Args>,
  argv: readonly string[],
): Promise<void> {
  const { commandLine, version } = program;
  const keepAlive = setInterval(() => {}, KEEP_ALIVE_MS);
  try {
    const args = await parseCommandLine(commandLine, argv, { home: homedir(), cwd: process.cwd(), version });
    if ('print' in args) await printText(args.print);
    else if (args.foreground || isDaemon(process.env)) await start(program, args);
    else {
      await waitForPidFile(args.pidFile, systemClock, (pid) => reportWait(commandLine.name, args.pidFile, pid));
      await detach(process.argv[1] ?? '', daemonArgv(commandLine, args));
    }
  } catch (error) {
    await fail(commandLine.name, error);
  } finally {
    clearInterval(keepAlive);
  }
}

/** Limit of heap growth between two full collections, in percent of the live heap. */
const GROWTH_PERCENT = 100;

/**
 * Limits garbage. By default V8 lets the heap grow to four times its live size before a full collection, especially on a busy
 * machine, which looks like a leak. docs/measurements.md has the costs and savings.
 * @param execArgv - flags of this process; `--heap-growing-percent` set by an operator stays in force
 * @returns whether the growth is limited now
 */
export function boundHeapGrowth(execArgv: readonly string[]): boolean {
  if (execArgv.some((flag) => /^--heap[-_]growing[-_]percent\b/.test(flag))) return false;
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
  return true;
}
