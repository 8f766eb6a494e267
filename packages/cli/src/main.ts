import { createRequire } from 'node:module';
import type { Logger } from '@nodepool/core';
import { print, inform } from './command/context.js';
import type { CliContext } from './command/context.js';
import { watchOutput } from './output-errors.js';
import { parseCommandLine } from './parser.js';
import type { CommandLine } from './parser.js';
import { UsageError } from './command/usage-error.js';

/** Keeps the process alive while a command runs: timers of libraries do not. */
const KEEP_ALIVE_MS = 2 ** 30;

function readVersion(): string {
  const manifest = createRequire(import.meta.url)('../package.json') as { version: string };
  return manifest.version;
}

async function reportError(error: unknown, logger: Logger | undefined, debug: boolean): Promise<number> {
  if (error instanceof UsageError) {
    inform(`nodepool: ${error.message}\nTry 'nodepool --help'.`);
    return 2;
  }
  const { describeError } = await import('./command/errors.js');
  const { InterruptedError } = await import('./terminal/interrupts.js');
  if (error instanceof InterruptedError) return error.exitStatus;
  inform(`nodepool: ${describeError(error)}`);
  if (debug) logger?.debug('The error in full', { error });
  return 1;
}

/** Loads code on demand, so that help and short commands start fast. */
async function execute({ command, args, options }: CommandOf<'command'>, context: CliContext): Promise<number> {
  const run = (each: CliContext) => command.run(each, args);
  if (options.watchMs === undefined) return (await run(context)) ?? 0;
  const { watchCommand } = await import('./watch.js');
  return watchCommand(context, options.watchMs, run);
}

type CommandOf<Kind extends CommandLine['kind']> = Extract<CommandLine, { kind: Kind }>;

async function runCommandLine(line: CommandOf<'command'>): Promise<number> {
  let logger: Logger | undefined;
  try {
    const { createLogger } = await import('./terminal/logging.js');
    const { patientClock } = await import('@nodepool/zk-protocol');
    logger = await createLogger(line.log);
    return await execute(line, { options: line.options, logger, clock: patientClock, env: process.env });
  } catch (error) {
    return reportError(error, logger, line.log.debug);
  }
}

/**
 * Runs a command line and sets the exit status of the process.
 * @param argv - without node and script
 */
export async function main(argv: readonly string[]): Promise<void> {
  watchOutput();
  const keepAlive = setInterval(() => {}, KEEP_ALIVE_MS);
  try {
    const line = await parseCommandLine(argv, readVersion());
    if (line.kind === 'print') print(line.text);
    process.exitCode = line.kind === 'print' ? line.exitStatus : await runCommandLine(line);
  } catch (error) {
    process.exitCode = await reportError(error, undefined, false);
  } finally {
    clearInterval(keepAlive);
  }
}
