import type { ChildProcess } from 'node:child_process';
import { realpath } from 'node:fs/promises';
import { isAbsolute, relative } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CliError } from '../command/errors.js';
import type { RemoteNode } from './remote-node.js';
import { UNPACK } from './remote-scripts.js';
import { startStep, untilInterrupted } from './transfer.js';
import type { TransferLimits } from './transfer.js';

/** Exit status of `tar` for a file that changed while it was read. */
const TAR_WARNING = 1;

/** If the reader ends early, its exit status says so. */
async function pipe(from: ChildProcess, to: ChildProcess): Promise<void> {
  await pipeline(from.stdout as Readable, to.stdin as Writable).catch(() => undefined);
}

/**
 * Copies the content of a local directory to a directory below the node's folder.
 * @param without - path of a file below the source that is left out
 * @throws CliError it could not be read, sent or unpacked; the signal's reason; InterruptedError a signal ended it
 */
export function copyTo(
  node: RemoteNode,
  { source, without }: { readonly source: string; readonly without: string | undefined },
  target: string,
  limits: TransferLimits,
): Promise<void> {
  const exclude = without === undefined ? [] : [`--exclude=./${without.replaceAll(/[\\*?[\]]/g, String.raw`\$&`)}`];
  return untilInterrupted(limits, () => copy(node, source, target, exclude, limits.signal));
}

async function copy(
  node: RemoteNode,
  source: string,
  target: string,
  exclude: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const tar = startStep('tar', ['-C', source, ...exclude, '-c', '-f', '-', '.'], ['ignore', 'pipe'], signal);
  const ssh = startStep('ssh', node.script('streams', UNPACK, target), ['pipe', 'ignore'], signal);
  await pipe(tar.child, ssh.child);
  const [packed, unpacked] = await Promise.all([tar.ended, ssh.ended]);
  signal.throwIfAborted();
  if (unpacked !== 0) throw new CliError(`Cannot copy ${source} to ${node.where}: ssh ended with status ${unpacked}`);
  if (packed > TAR_WARNING) throw new CliError(`Cannot copy all of ${source}: tar ended with status ${packed}`);
}

/** The path of a file below a directory, links followed. @returns `undefined` if it is not there */
export async function pathBelow(directory: string, file: string): Promise<string | undefined> {
  const [from, to] = await Promise.all([realpath(directory), realpath(file).catch(() => undefined)]);
  const path = to === undefined ? '' : relative(from, to);
  return path === '' || isAbsolute(path) || /^\.\.(\/|$)/.test(path) ? undefined : path;
}
