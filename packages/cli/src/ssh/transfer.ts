import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { realpath } from 'node:fs/promises';
import { constants } from 'node:os';
import { isAbsolute, posix, relative } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Clock } from '@nodepool/zk-protocol';
import { CliError } from '../command/errors.js';
import { GroupSignals } from '../run/group-signals.js';
import { InterruptedError } from '../terminal/interrupts.js';
import type { RemoteNode } from './remote-node.js';
import { NOTHING_TO_PACK, PACK, UNPACK } from './remote-scripts.js';

/** Exit status of `tar` for a file that changed while it was read. */
const TAR_WARNING = 1;

interface Step {
  readonly child: ChildProcess;
  /** Exit status as a shell would give it. */
  readonly ended: Promise<number>;
}

/** @param signal - ends it */
function start(
  program: string,
  args: readonly string[],
  stdio: ['pipe' | 'ignore', 'pipe' | 'ignore'],
  signal: AbortSignal,
): Step {
  const child = spawn(program, args, { stdio: [...stdio, 'inherit'], signal });
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', (error) => {
      if (!signal.aborted) reject(new CliError(`Cannot run ${program}: ${error.message}`, { cause: error }));
    });
    child.once('close', (code, by) => resolve(code ?? 128 + (by === null ? 0 : constants.signals[by])));
  });
  ended.catch(() => undefined); // reported where it is awaited
  return { child, ended };
}

/** If the reader ends early, its exit status says so. */
async function pipe(from: ChildProcess, to: ChildProcess): Promise<void> {
  await pipeline(from.stdout as Readable, to.stdin as Writable).catch(() => undefined);
}

/** How long a transfer may run. */
export interface TransferLimits {
  readonly clock: Clock;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/** Ctrl-C reaches `ssh` and `tar` too, and they may end before this process notices it: that is no failed transfer. */
async function untilInterrupted({ clock, signal }: TransferLimits, transfer: () => Promise<void>): Promise<void> {
  signal.throwIfAborted();
  const group = await GroupSignals.start(clock);
  try {
    await transfer();
  } catch (error) {
    const interrupt = await group.settle();
    signal.throwIfAborted();
    throw interrupt === undefined ? error : new InterruptedError(interrupt);
  } finally {
    group.stop();
  }
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
  const tar = start('tar', ['-C', source, ...exclude, '-c', '-f', '-', '.'], ['ignore', 'pipe'], signal);
  const ssh = start('ssh', node.script('streams', UNPACK, target), ['pipe', 'ignore'], signal);
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

/** Path of a file on a node: relative to the directory of the command, or absolute. */
export interface RemoteFile {
  readonly directory: string;
  readonly name: string;
}

/** @returns `undefined` for a path that does not end in a name, such as `..` */
export function remoteFile(path: string): RemoteFile | undefined {
  const { dir, base } = posix.parse(posix.normalize(path));
  if (base === '' || base === '.' || base === '..') return undefined;
  return { directory: dir === '' ? '.' : dir.startsWith('/') ? dir : `./${dir}`, name: base };
}

/**
 * Copies a file or directory of the node to the directory of this process. Nothing else there is touched, whatever the node sends.
 * @param base - directory of the command below the node's folder, or nothing
 * @throws CliError there is none, or it could not be sent or unpacked; the signal's reason; InterruptedError a signal ended it
 */
export function fetchFrom(node: RemoteNode, file: RemoteFile, base: string, limits: TransferLimits): Promise<void> {
  return untilInterrupted(limits, () => fetch(node, file, base, limits.signal));
}

async function fetch(node: RemoteNode, file: RemoteFile, base: string, signal: AbortSignal): Promise<void> {
  const { directory, name } = file;
  const ssh = start('ssh', node.script('streams', PACK, base, directory, name), ['ignore', 'pipe'], signal);
  const output = ssh.child.stdout as Readable;
  await Promise.race([once(output, 'readable'), ssh.ended]);
  const first = output.read() as Buffer | null; // a missing file sends nothing
  if (first !== null) output.unshift(first);
  const unpacked = first === null ? 0 : await unpack(ssh, name, signal);
  const packed = await ssh.ended;
  signal.throwIfAborted();
  const path = posix.join(directory, name);
  if (packed === NOTHING_TO_PACK) throw new CliError(`Cannot fetch ${path}: ${node.where} has no such file`);
  if (packed !== 0) throw new CliError(`Cannot fetch ${path} from ${node.where}: ssh ended with status ${packed}`);
  if (unpacked !== 0) throw new CliError(`Cannot store ${name} here: tar ended with status ${unpacked}`);
}

async function unpack(ssh: Step, name: string, signal: AbortSignal): Promise<number> {
  const tar = start('tar', ['-x', '-o', '--no-same-permissions', '-f', '-', `./${name}`], ['pipe', 'ignore'], signal);
  await pipe(ssh.child, tar.child);
  return tar.ended;
}
