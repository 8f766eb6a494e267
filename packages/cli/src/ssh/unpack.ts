import { once } from 'node:events';
import { realpath, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Unpack } from 'tar';
import type { ReadEntry } from 'tar';
import { makeDirectory } from '@nodepool/zk-protocol';
import { describeError } from '../command/errors.js';
import { LeftOut } from './left-out.js';
import { judgeMember } from './members.js';

/** Permissions of files: no setuid, setgid or sticky bit. */
const PERMISSIONS = 0o777;
/** They are held in memory until all else is unpacked. */
const MOST_LINKS = 100_000;

/** What became of an archive. */
export interface Unpacked {
  /** Members that must not be unpacked. */
  readonly refused: LeftOut;
  /** Members that could not be unpacked, for example for lack of space. */
  readonly failed: LeftOut;
  /** What is wrong with the archive itself. */
  readonly error: unknown;
}

interface SymbolicLink {
  readonly path: string;
  readonly target: string;
}

/** Unpacks in a directory that it alone writes to. No symbolic link is made before the end, so that none can be followed. */
class Unpacking implements Unpacked {
  readonly refused = new LeftOut();
  readonly failed = new LeftOut();
  readonly #directory: string;
  readonly #name: string;
  readonly #links: SymbolicLink[] = [];
  readonly #unpack: Unpack;
  #error: unknown;
  #isOver = false;

  constructor(directory: string, name: string) {
    this.#directory = directory;
    this.#name = name;
    this.#unpack = new Unpack({
      cwd: directory,
      filter: (_path, entry) => this.#takes(entry as ReadEntry),
      onReadEntry: (entry) => this.#plain(entry),
      onwarn: (_code, message, data) => this.failed.add(pathOf(data), describeError(message)),
      ...{ preserveOwner: false, chmod: false },
      ...{ maxDecompressionRatio: 0, zstd: false }, // nothing is compressed
    });
    this.#unpack.on('error', (error: Error) => (this.#error ??= error));
    this.#unpack.on('eof', () => (this.#isOver = true));
    this.#unpack.on('ignoredEntry', (entry: ReadEntry) => this.#leaveOut(entry));
  }

  get error(): unknown {
    return this.#error;
  }

  /** Reads all of the archive, also if it is damaged: so its sender ends by itself, with a status that says what is wrong. */
  async read(archive: AsyncIterable<Buffer>): Promise<void> {
    for await (const chunk of archive) await this.#whileSound(() => this.#write(chunk));
    await this.#whileSound(() => this.#end());
    for (const link of this.#links) await this.#link(link).catch((error: unknown) => this.#fail(link, error));
  }

  async #whileSound(step: () => Promise<void>): Promise<void> {
    if (this.#error !== undefined) return;
    try {
      await step();
    } catch (error) {
      this.#error ??= error;
    }
  }

  async #write(chunk: Buffer): Promise<void> {
    if (this.#isOver) return; // the unpacker would keep what follows the archive
    if (!this.#unpack.write(chunk)) await once(this.#unpack, 'drain');
  }

  async #end(): Promise<void> {
    const closed = once(this.#unpack, 'close');
    this.#unpack.end();
    await closed;
  }

  #takes(entry: ReadEntry): boolean {
    const member = judgeMember(entry, this.#name);
    if ('refused' in member) return false;
    if (member.link === undefined) return true;
    if (this.#links.length < MOST_LINKS) this.#links.push({ path: member.path, target: member.link });
    else this.refused.add(entry.path, `more than ${MOST_LINKS} links`);
    return false;
  }

  #leaveOut(entry: ReadEntry): void {
    if (entry.meta) return this.failed.add(entry.path, 'its description is too long');
    const member = judgeMember(entry, this.#name);
    if ('refused' in member) this.refused.add(entry.path, member.refused);
  }

  #plain(entry: ReadEntry): void {
    if (entry.mode !== undefined) entry.mode &= PERMISSIONS;
    if (Number.isNaN(entry.mtime?.getTime())) entry.mtime = undefined;
    if (Number.isNaN(entry.atime?.getTime())) entry.atime = undefined;
  }

  async #link({ path, target }: SymbolicLink): Promise<void> {
    const place = join(this.#directory, path);
    const parent = dirname(place);
    await makeDirectory(parent);
    if ((await realpath(parent)) !== parent) this.refused.add(path, 'below a link');
    else await symlink(target, place);
  }

  #fail({ path }: SymbolicLink, error: unknown): void {
    this.failed.add(path, describeError(error));
  }
}

function pathOf(data: object): unknown {
  const entry = 'entry' in data ? data.entry : 'header' in data ? data.header : undefined;
  return typeof entry === 'object' && entry !== null && 'path' in entry ? entry.path : '';
}

/**
 * Unpacks an archive that a machine sent: regular files, directories, and links that stay inside.
 * @param directory - empty, written to by this process alone, with no link in its path
 * @param name - of the only file or directory that may be in it
 */
export async function unpack(archive: AsyncIterable<Buffer>, directory: string, name: string): Promise<Unpacked> {
  const unpacking = new Unpacking(directory, name);
  await unpacking.read(archive);
  return unpacking;
}
