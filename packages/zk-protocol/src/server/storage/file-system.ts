import { constants, fstatSync, writeSync } from 'node:fs';
import * as fs from 'node:fs/promises';
import { makeDirectory } from '../../base/make-directory.js';

/** An open file of the data directory. Every method rejects with the operating system's error. */
export interface StorageFile {
  /** Bytes in the file. */
  size(): Promise<number>;
  /** Up to `length` bytes from the position; fewer only at the end of the file. */
  read(length: number, position: number): Promise<Buffer>;
  /** Writes all bytes at the position. */
  write(bytes: Buffer, position: number): Promise<void>;
  /** Writes a few bytes synchronously, so that a killed process does not lose them. */
  writeNow(bytes: Buffer, position: number): void;
  /** Resolves when all written data is on stable storage. Rejects if the file was removed. */
  sync(): Promise<void>;
  truncate(length: number): Promise<void>;
  close(): Promise<void>;
}

/** The file system of a data directory; tests use one that runs full or fails. */
export interface FileSystem {
  makeDirectory(path: string): Promise<void>;
  list(path: string): Promise<string[]>;
  /** Opens for reading and writing; `create` truncates an existing file. */
  open(path: string, mode: 'create' | 'existing'): Promise<StorageFile>;
  rename(from: string, to: string): Promise<void>;
  /** Removes a file, if it exists. */
  remove(path: string): Promise<void>;
  /** Makes creations, renames and removals in a directory durable. */
  syncDirectory(path: string): Promise<void>;
}

/** The file system of the operating system. */
export const nodeFileSystem: FileSystem = {
  makeDirectory: (path) => makeDirectory(path, 0o700),
  list: (path) => fs.readdir(path),
  open: async (path, mode) => {
    const flags = mode === 'create' ? constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC : constants.O_RDWR;
    return storageFile(await fs.open(path, flags, 0o600));
  },
  rename: (from, to) => fs.rename(from, to),
  remove: (path) => fs.rm(path, { force: true }),
  syncDirectory: async (path) => {
    const directory = await fs.open(path, 'r');
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
  },
};

function storageFile(handle: fs.FileHandle): StorageFile {
  return {
    size: async () => (await handle.stat()).size,
    read: async (length, position) => {
      const bytes = Buffer.allocUnsafe(length);
      let done = 0;
      for (let last = -1; last !== 0 && done < length; done += last) {
        last = (await handle.read(bytes, done, length - done, position + done)).bytesRead;
      }
      return bytes.subarray(0, done);
    },
    write: async (bytes, position) => {
      let written = 0;
      while (written < bytes.length) {
        const result = await handle.write(bytes, written, bytes.length - written, position + written);
        written += result.bytesWritten;
      }
    },
    writeNow: (bytes, position) => {
      writeSync(handle.fd, bytes, 0, bytes.length, position);
    },
    sync: async () => {
      await handle.datasync();
      if (fstatSync(handle.fd).nlink === 0) {
        throw Object.assign(new Error('ENOENT: the file was removed while it was open'), { code: 'ENOENT' });
      }
    },
    truncate: (length) => handle.truncate(length),
    close: () => handle.close(),
  };
}
