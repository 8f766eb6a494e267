import { basename, dirname, join } from 'node:path';
import type { FileSystem, StorageFile } from '../../src/server/index.js';
import type { Random } from './random.js';

interface Write {
  bytes: Buffer;
  position: number;
}

interface Entry {
  content: Buffer;
  /** What a power cut leaves for certain. */
  durable: Buffer;
  /** Writes since the last sync. */
  unsynced: Write[];
  /** Whether the name itself survives a power cut. */
  isNameDurable: boolean;
}

/** A file system in memory that can run full, fail to sync, and lose power. */
export class MemoryFileSystem implements FileSystem {
  /** Bytes all files together may have. */
  capacityBytes = Infinity;
  /** When set, every sync fails with this error. */
  syncError: Error | undefined;
  private readonly entries = new Map<string, Entry>();

  /** What is found after a power cut: what was synced, and of the rest whatever happened to reach the disk. */
  afterPowerCut(random: Random): MemoryFileSystem {
    const next = new MemoryFileSystem();
    for (const [path, entry] of this.entries) {
      if (!entry.isNameDurable && random.chance(0.5)) continue;
      let content = entry.durable;
      for (const write of entry.unsynced) {
        if (random.chance(0.4)) continue;
        const length = random.chance(0.5) ? write.bytes.length : random.below(write.bytes.length + 1);
        content = patched(content, write.bytes.subarray(0, length), write.position);
      }
      next.entries.set(path, { content, durable: content, unsynced: [], isNameDurable: true });
    }
    return next;
  }

  names(): string[] {
    return [...this.entries.keys()].map((path) => basename(path)).sort();
  }

  makeDirectory(): Promise<void> {
    return Promise.resolve();
  }

  list(path: string): Promise<string[]> {
    return Promise.resolve(
      [...this.entries.keys()].filter((name) => dirname(name) === path).map((name) => basename(name)),
    );
  }

  /** A copy of a file's content. */
  readFile(path: string): Promise<Buffer> {
    return Promise.resolve(Buffer.from(this.entry(path).content));
  }

  /** Replaces a file's content, durably. */
  overwrite(path: string, content: Buffer): void {
    this.entries.set(path, { content, durable: content, unsynced: [], isNameDurable: true });
  }

  open(path: string, mode: 'create' | 'existing'): Promise<StorageFile> {
    if (mode === 'create') {
      const empty = Buffer.alloc(0);
      const isNameDurable = this.entries.get(path)?.isNameDurable ?? false;
      this.entries.set(path, { content: empty, durable: empty, unsynced: [], isNameDurable });
    }
    return Promise.resolve(this.file(this.entry(path)));
  }

  rename(from: string, to: string): Promise<void> {
    const entry = this.entry(from);
    this.entries.delete(from);
    this.entries.set(to, { ...entry, isNameDurable: false });
    return Promise.resolve();
  }

  remove(path: string): Promise<void> {
    this.entries.delete(path);
    return Promise.resolve();
  }

  syncDirectory(path: string): Promise<void> {
    for (const [name, entry] of this.entries) {
      if (dirname(name) === path) entry.isNameDurable = true;
    }
    return Promise.resolve();
  }

  private entry(path: string): Entry {
    const entry = this.entries.get(path);
    if (entry === undefined) throw failure('ENOENT', `no such file: ${path}`);
    return entry;
  }

  private file(entry: Entry): StorageFile {
    return {
      size: () => Promise.resolve(entry.content.length),
      read: (length, position) => Promise.resolve(Buffer.from(entry.content.subarray(position, position + length))),
      write: async (bytes, position) => {
        await Promise.resolve();
        const room = this.capacityBytes - this.usedBytes();
        const grows = Math.max(0, position + bytes.length - entry.content.length);
        const fits = grows > room ? bytes.subarray(0, Math.max(0, bytes.length - (grows - room))) : bytes;
        entry.content = patched(entry.content, fits, position);
        entry.unsynced.push({ bytes: Buffer.from(fits), position });
        if (fits.length < bytes.length) throw failure('ENOSPC', 'no space left on device, write');
      },
      writeNow: (bytes, position) => {
        if (this.usedBytes() + Math.max(0, position + bytes.length - entry.content.length) > this.capacityBytes) {
          throw failure('ENOSPC', 'no space left on device, write');
        }
        entry.content = patched(entry.content, bytes, position);
        entry.unsynced.push({ bytes: Buffer.from(bytes), position });
      },
      sync: async () => {
        await Promise.resolve();
        if (this.syncError !== undefined) throw this.syncError;
        entry.durable = entry.content;
        entry.unsynced = [];
      },
      truncate: (length) => {
        entry.content = Buffer.from(entry.content.subarray(0, length));
        entry.durable = entry.content;
        entry.unsynced = [];
        return Promise.resolve();
      },
      close: () => Promise.resolve(),
    };
  }

  private usedBytes(): number {
    let used = 0;
    for (const { content } of this.entries.values()) used += content.length;
    return used;
  }
}

/** Path of the only file with that prefix. */
export function pathOf(fs: MemoryFileSystem, directory: string, prefix: string): string {
  const names = fs.names().filter((name) => name.startsWith(prefix));
  const last = names.at(-1);
  if (last === undefined) throw new Error(`no file begins with ${prefix}`);
  return join(directory, last);
}

function patched(content: Buffer, bytes: Buffer, position: number): Buffer {
  const result = Buffer.alloc(Math.max(content.length, position + bytes.length));
  content.copy(result);
  bytes.copy(result, position);
  return result;
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(`${code}: ${message}`), { code });
}
