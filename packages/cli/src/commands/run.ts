import { defineCommand, texts } from '../command/command.js';
import { inform } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { describeError } from '../command/errors.js';
import { shellWord } from '@nodepool/core/service';
import { UsageError } from '../command/usage-error.js';
import type { AcquireArguments } from '../lease/acquire-options.js';
import { describeNodes } from '../lease/describe-lease.js';
import { holdOnFailure } from '../lease/hold-on-failure.js';
import type { Lease } from '../lease/lease.js';
import { withLease } from '../lease/with-lease.js';
import { runChildCommand } from '../run/child-command.js';
import { nodeEnvironment } from '../run/environment.js';
import { writeRunFiles } from '../run/run-files.js';
import type { Interrupts } from '../terminal/interrupts.js';
import { ACQUIRE_OPTIONS, HOLD_ON_FAILURE, LABELS, acquireArguments, holdOnFailureMs } from './shared-options.js';

/** More than one label may be a forgotten `--`. */
function exampleFor([label, ...words]: readonly string[]): string {
  const command = words.length > 0 ? words.map(shellWord).join(' ') : 'COMMAND ARGS';
  return `nodepool run ${words.length > 0 ? shellWord(label ?? '') : 'LABEL...'} -- ${command}`;
}

/** `nodepool run`. */
export const command = defineCommand({
  positionals: { labels: LABELS },
  options: { ...ACQUIRE_OPTIONS, ...HOLD_ON_FAILURE },
  takesRest: true,
  takesLabels: true,
  parse(values) {
    const command = texts(values, '--');
    if (command.length === 0) throw new UsageError(`run needs a command: ${exampleFor(texts(values, 'labels'))}`);
    return { command, holdMs: holdOnFailureMs(values), ...acquireArguments(values) };
  },
  run,
});

async function runWithNodes(
  context: CliContext,
  lease: Lease,
  interrupts: Interrupts,
  { command: [program = '', ...args], holdMs }: RunOptions,
): Promise<number> {
  const { clock, env } = context;
  const files = await writeRunFiles(lease.nodes);
  try {
    const nodes = nodeEnvironment(lease.requestId, describeNodes(lease.nodes), files);
    const killedText = 'nodepool run was killed; ending the command';
    const command = { program, args, env: { ...env, ...nodes }, directory: files.directory, killedText };
    const status = await runChildCommand(command, { clock, lease, interrupts });
    await holdOnFailure(context, lease, status, holdMs);
    return status;
  } finally {
    await files.remove();
  }
}

/** Arguments of `nodepool run`. */
type RunOptions = AcquireArguments & {
  readonly command: readonly string[];
  readonly holdMs: number | undefined;
};

/** Says that the command does not run on the nodes, as new users may expect. */
function whereText(program: string, labels: readonly string[]): string {
  const variables = 'NODEPOOL_NODE_0_IP, NODEPOOL_NODES_FILE, NODEPOOL_INVENTORY and others';
  const other = labels.length === 1 ? `; to run it on the node: nodepool ssh ${labels[0]} -- ${program} ...` : '';
  return `nodepool: ${program} runs on this computer and finds the nodes by ${variables}${other}`;
}

/** `nodepool run`: takes nodes, runs a command with them, returns them. @returns the command's exit status */
async function run(context: CliContext, options: RunOptions): Promise<number> {
  const [program = ''] = options.command;
  if (!options.quiet) inform(whereText(program, options.labels));
  const acquire = { ...options, purpose: `nodepool run: ${program}` };
  const onUnreturned = (error: unknown) => inform(`nodepool: ${describeError(error)}`);
  return withLease(context, acquire, onUnreturned, (lease, interrupts) =>
    runWithNodes(context, lease, interrupts, options),
  );
}
