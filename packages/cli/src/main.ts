import { createRequire } from 'node:module';
import type { Logger } from '@nodepool/core';
import type { NodeId } from '@nodepool/zk-protocol';
import { commandClock, print, tell } from './context.js';
import type { CliContext } from './context.js';
import { describeError, UsageError } from './errors.js';
import { InterruptedError } from './interrupts.js';
import { createLogger } from './logging.js';
import { parseCommandLine } from './parser.js';
import type { Command, CommandLine } from './parser.js';

function readVersion(): string {
  const manifest = createRequire(import.meta.url)('../package.json') as { version: string };
  return manifest.version;
}

/** Each command is loaded when it is called, so that the short ones start fast. @returns the exit status */
async function execute(command: Command, context: CliContext): Promise<number> {
  switch (command.name) {
    case 'list':
      await (await import('./commands/list.js')).list(context, command);
      return 0;
    case 'request-list':
      await (await import('./commands/request-list.js')).requestList(context, command);
      return 0;
    case 'info':
      await (await import('./commands/info.js')).info(context, command);
      return 0;
    case 'delete':
    case 'hold': {
      const { changeNodeState } = await import('./commands/change-node.js');
      await changeNodeState(context, command.id as NodeId, command.name === 'hold' ? 'hold' : 'deleting');
      return 0;
    }
    case 'drivers':
      await (await import('./commands/drivers.js')).drivers(context);
      return 0;
    case 'config-validate':
      return (await import('./commands/config-validate.js')).configValidate(context);
    case 'explain':
      await (await import('./commands/explain.js')).explain(context, command);
      return 0;
    case 'plan':
      return (await import('./commands/plan.js')).plan(context, command);
    case 'request':
      await (await import('./commands/request.js')).request(context, command);
      return 0;
    case 'run':
      return (await import('./commands/run.js')).run(context, command);
  }
}

function reportError(error: unknown, logger: Logger | undefined, debug: boolean): number {
  if (error instanceof UsageError) {
    tell(`nodepool: ${error.message}\nTry 'nodepool --help'.`);
    return 2;
  }
  if (error instanceof InterruptedError) return error.exitStatus;
  tell(`nodepool: ${describeError(error)}`);
  if (debug) logger?.debug('The error in full', { error });
  return 1;
}

async function runCommandLine(line: Extract<CommandLine, { kind: 'command' }>): Promise<number> {
  let logger: Logger | undefined;
  try {
    logger = await createLogger(line.log);
    return await execute(line.command, { options: line.options, logger, clock: commandClock, env: process.env });
  } catch (error) {
    return reportError(error, logger, line.log.debug);
  }
}

/** A reader that has seen enough, such as `head`, is no error; what holds nodes listens for it by itself. */
function tolerateClosedOutput(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

/**
 * Runs a command line and sets the exit status of the process.
 * @param argv - without node and script
 */
export async function main(argv: readonly string[]): Promise<void> {
  tolerateClosedOutput();
  try {
    const line = await parseCommandLine(argv, readVersion());
    if (line.kind === 'print') print(line.text);
    process.exitCode = line.kind === 'print' ? line.exitStatus : await runCommandLine(line);
  } catch (error) {
    process.exitCode = reportError(error, undefined, false);
  }
}
