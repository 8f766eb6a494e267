import { lstat } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { inform } from '../command/context.js';
import { CliError, describeError } from '../command/errors.js';
import { MarkedOutput } from './marked-output.js';
import { directoryFor, moveTo, removeDirectory } from './place.js';
import type { RemoteNode } from './remote-node.js';
import { NOTHING_TO_PACK, PACK } from './remote-scripts.js';
import { startStep, untilInterrupted } from './transfer.js';
import type { TransferLimits } from './transfer.js';
import { unpack } from './unpack.js';
import type { Unpacked } from './unpack.js';

/** Highest exit status of a `tar` that has packed what it could. */
const PACKED_SOME = 2;

/** Exit status of `ssh` when login failed, or the connection broke. */
const SSH_FAILED = 255;

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

/** What is copied to where. */
interface Fetch {
  readonly node: RemoteNode;
  readonly file: RemoteFile;
  /** Directory of the command below the node's folder, or nothing. */
  readonly base: string;
  /** Local directory that gets it. */
  readonly target: string;
}

/**
 * Copies a file or directory of the node to the directory of this process. Nothing else there is touched, whatever the node sends.
 * @param base - directory of the command below the node's folder, or nothing
 * @throws CliError there is none, or it could not be sent or unpacked; the signal's reason; InterruptedError a signal ended it
 */
export function fetchFrom(node: RemoteNode, file: RemoteFile, base: string, limits: TransferLimits): Promise<void> {
  const fetched = { node, file, base, target: process.cwd() };
  return untilInterrupted(limits, () => fetchAside(fetched, limits.signal));
}

/** Unpacks in a directory beside the target first: what a machine sends must not meet the files of the caller. */
async function fetchAside(fetched: Fetch, signal: AbortSignal): Promise<void> {
  const { target, file } = fetched;
  const cannotStore = (error: unknown) => {
    throw new CliError(`Cannot store ${file.name} in ${target}: ${describeError(error)}`, { cause: error });
  };
  const aside = await directoryFor(target, file.name).catch(cannotStore);
  try {
    const unpacked = await fetchTo(aside, fetched, signal);
    const fetchedFile = join(aside, file.name);
    if ((await lstat(fetchedFile).catch(() => undefined)) === undefined) throw nothingCame(fetched, unpacked);
    await moveTo(join(target, file.name), fetchedFile).catch(cannotStore);
    report(fetched, unpacked);
  } finally {
    await removeDirectory(aside);
  }
}

async function fetchTo(aside: string, { node, file, base }: Fetch, signal: AbortSignal): Promise<Unpacked> {
  const { directory, name } = file;
  const marked = new MarkedOutput(node.where, 'pipe');
  const script = node.script('streams', PACK, base, directory, name, marked.marker);
  const ssh = startStep('ssh', script, ['ignore', marked.input], signal);
  marked.release();
  const unpacked = await unpack(marked.output, aside, name);
  const [packed, unmarked] = await Promise.all([ssh.ended, marked.end()]);
  signal.throwIfAborted();
  const path = posix.join(directory, name);
  if (packed === NOTHING_TO_PACK) throw new CliError(`Cannot fetch ${path}: ${node.where} has no such file`);
  const cannotFetch = `Cannot fetch ${path} from ${node.where}`;
  if (unmarked !== undefined && packed !== SSH_FAILED) throw new CliError(`${cannotFetch}: ${unmarked}`);
  if (packed > PACKED_SOME) throw new CliError(`${cannotFetch}: ssh ended with status ${packed}`);
  if (unpacked.error)
    throw new CliError(`${cannotFetch}: the archive that it sent is damaged: ${describeError(unpacked.error)}`);
  if (packed !== 0) unpacked.failed.add(path, `tar ended with status ${packed} on the node`);
  return unpacked;
}

function nothingCame({ node, file }: Fetch, { refused, failed }: Unpacked): CliError {
  const path = posix.join(file.directory, file.name);
  const why = [failed, refused].filter(({ count }) => count > 0).join(', ');
  return new CliError(
    `Cannot fetch ${path} from ${node.where}: nothing usable came${why === '' ? '' : `: left out ${why}`}`,
  );
}

/** @throws CliError something could not be stored */
function report({ node, file, target }: Fetch, { refused, failed }: Unpacked): void {
  const path = posix.join(file.directory, file.name);
  if (refused.count > 0) inform(`nodepool: fetched ${path} without what is not safe to store: ${refused.toString()}`);
  if (failed.count > 0)
    throw new CliError(`Cannot fetch all of ${path} from ${node.where} to ${target}: ${failed.toString()}`);
}
