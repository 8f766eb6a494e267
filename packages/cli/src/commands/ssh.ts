import { access, constants, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, resolve } from 'node:path';
import { defineCommand, text, texts } from '../command/command.js';
import type { Values } from '../command/command.js';
import { inform } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError, describeError } from '../command/errors.js';
import { UsageError } from '../command/usage-error.js';
import { tokenFileOf } from '../connection/server.js';
import type { AcquireArguments } from '../lease/acquire-options.js';
import { hasFailed, holdOnFailure } from '../lease/hold-on-failure.js';
import type { Lease } from '../lease/lease.js';
import { withIdentity } from '../lease/node-login.js';
import { withLease } from '../lease/with-lease.js';
import { writeRunFiles } from '../run/run-files.js';
import { RemoteCommand } from '../ssh/remote-command.js';
import { RemoteNode } from '../ssh/remote-node.js';
import { copyTo, pathBelow } from '../ssh/copy.js';
import { fetchFrom, remoteFile } from '../ssh/fetch.js';
import type { Interrupts } from '../terminal/interrupts.js';
import { ACQUIRE_OPTIONS, HOLD_ON_FAILURE, acquireArguments, holdOnFailureMs } from './shared-options.js';

const { count: _count, ...ACQUIRE_ONE } = ACQUIRE_OPTIONS;

function parse(values: Values): SshOptions {
  const acquire = acquireArguments({ ...values, labels: [text(values, 'label') ?? ''], count: 1 });
  const command = texts(values, '--');
  const fetch = texts(values, 'fetch');
  if (command.length === 0 && fetch.length > 0)
    throw new UsageError('--fetch needs a command: nodepool ssh LABEL -- ...');
  const files = { copy: text(values, 'copy'), fetch, identity: text(values, 'identity') };
  return { ...acquire, ...files, command, holdMs: holdOnFailureMs(values) };
}

/** `nodepool ssh`. */
export const command = defineCommand({
  positionals: { label: { type: 'string', demandOption: true, describe: 'label of the node' } },
  options: {
    copy: {
      ...{ type: 'string', requiresArg: true, value: 'DIR' },
      describe: 'copy this directory to the node first, and run the command in the copy',
    },
    fetch: {
      ...{ type: 'string', array: true, nargs: 1, requiresArg: true, value: 'PATH' },
      describe: 'copy this file or directory of the node here afterwards; may be repeated',
    },
    identity: {
      ...{ type: 'string', alias: 'i', requiresArg: true, value: 'FILE' },
      describe: 'private key to log in with; default: those of ssh',
    },
    ...ACQUIRE_ONE,
    ...HOLD_ON_FAILURE,
  },
  takesRest: true,
  takesLabels: true,
  parse,
  run: ssh,
});

/** Arguments of `nodepool ssh`. */
type SshOptions = AcquireArguments & {
  /** Empty: log in. */
  readonly command: readonly string[];
  readonly copy: string | undefined;
  readonly fetch: readonly string[];
  readonly identity: string | undefined;
  readonly holdMs: number | undefined;
};

/** The use of one node. */
interface Use {
  readonly context: CliContext;
  readonly options: SshOptions;
  readonly lease: Lease;
  readonly interrupts: Interrupts;
  readonly node: RemoteNode;
  /** Ends transfers. */
  readonly signal: AbortSignal;
  /** Directory of the command below the node's folder, or nothing. */
  readonly directory: string;
}

/** Expands `~` as `ssh` does: shells leave that of `--identity=~/.ssh/ci`. @throws CliError */
async function checkIdentity(identity: string): Promise<void> {
  await access(identity.replace(/^~(?=\/)/, homedir()), constants.R_OK).catch((error: unknown) => {
    throw new CliError(`Cannot read the key of --identity ${identity}: ${describeError(error)}`, { cause: error });
  });
}

/** Checks the files of the command line before a node is taken. @throws UsageError, CliError */
async function checkFiles({ copy, fetch, identity }: SshOptions): Promise<void> {
  if (identity !== undefined) await checkIdentity(identity);
  for (const path of fetch) {
    if (!remoteFile(path)) throw new UsageError(`--fetch needs the path of a file or directory, got "${path}"`);
  }
  if (copy === undefined) return;
  const found = await stat(copy).catch((error: unknown) => {
    throw new CliError(`Cannot copy ${copy}: ${describeError(error)}`, { cause: error });
  });
  if (!found.isDirectory())
    throw new CliError(`Cannot copy ${copy}: it is not a directory; name the one that contains it`);
}

/** `nodepool ssh`: takes a node, runs a command on it or logs in, returns it. @returns the exit status of the command */
async function ssh(context: CliContext, options: SshOptions): Promise<number> {
  await checkFiles(options);
  const [program] = options.command;
  if (!options.quiet)
    inform(`nodepool: ${program ?? 'a login shell'} runs on a node of label ${options.labels[0] ?? ''}`);
  const { identity } = options;
  const acquire = { ...options, purpose: `nodepool ssh: ${program ?? 'login'}`, login: { identity } };
  const onUnreturned = (error: unknown) => inform(`nodepool: ${describeError(error)}`);
  return withLease(context, acquire, onUnreturned, (lease, interrupts) => useNode(context, options, lease, interrupts));
}

async function useNode(
  context: CliContext,
  options: SshOptions,
  lease: Lease,
  interrupts: Interrupts,
): Promise<number> {
  const [leased] = lease.nodes;
  if (!leased) throw new CliError('The request was fulfilled without a node');
  const files = await writeRunFiles(lease.nodes);
  try {
    const node = new RemoteNode(leased.node, files.knownHostsFile, withIdentity(leased.login, options.identity));
    const directory = options.copy === undefined ? '' : basename(resolve(options.copy)) || 'copy';
    const signal = AbortSignal.any([interrupts.signal, lease.lost]);
    const use = { context, options, lease, interrupts, node, signal, directory };
    return await runSteps(use, files.directory);
  } finally {
    await files.remove();
  }
}

async function runSteps(use: Use, localDirectory: string): Promise<number> {
  const { context, options, lease, interrupts, node, directory } = use;
  const { clock, env } = context;
  if (!options.quiet) inform(`nodepool: uses ${node.where}`);
  const remote = new RemoteCommand(node, options.command, directory);
  let isHeld = false;
  try {
    await copyFiles(use);
    const status = await remote.run({ env, directory: localDirectory }, { clock, lease, interrupts });
    isHeld = await holdOnFailure(context, lease, status, options.holdMs, options.identity);
    if (isHeld && directory !== '') inform(`  its copy of the files is in ~/${node.folder}`);
    return (await fetchAll(use, status)) ? status : status || 1;
  } finally {
    if (!lease.lost.aborted) await remote.end({ keepsFiles: isHeld });
  }
}

/** Copies the directory, without the token that leases the node: it is for this computer alone. */
async function copyFiles({ context, options, node, signal, directory }: Use): Promise<void> {
  const { copy: source, server, quiet } = options;
  if (source === undefined) return;
  const token = tokenFileOf(context, server);
  const without = token === undefined ? undefined : await pathBelow(source, token);
  if (without !== undefined && !quiet) inform(`nodepool: the copy is without ${without}, the file with your token`);
  await copyTo(node, { source, without }, directory, { clock: context.clock, signal });
}

/** Skipped if a signal ended the command. @returns whether all was fetched */
async function fetchAll({ options, node, directory, signal, context }: Use, status: number): Promise<boolean> {
  if (status !== 0 && !hasFailed(status)) return true;
  let isComplete = true;
  for (const path of options.fetch) {
    const file = remoteFile(path);
    try {
      if (file) await fetchFrom(node, file, directory, { clock: context.clock, signal });
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof CliError)) throw error;
      inform(`nodepool: ${error.message}`);
      context.logger.debug('A fetch failed', { error });
      isComplete = false;
    }
  }
  return isComplete;
}
