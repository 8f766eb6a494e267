import { open, stat, type FileHandle } from 'node:fs/promises';

const CHUNK_BYTES = 65_536;

/** Reads a log that grows, and continues with the new file when it has been rotated. */
export class GrowingFile {
  readonly file: string;
  readonly #decoder = new TextDecoder();
  readonly #buffer = Buffer.alloc(CHUNK_BYTES);
  #open: { readonly handle: FileHandle; readonly inode: number; position: number } | undefined;

  constructor(file: string) {
    this.file = file;
  }

  /** Passes the text that was added since the last call. @throws when the file cannot be read */
  async read(take: (text: string) => void): Promise<void> {
    await this.#readRest(take);
    const now = await stat(this.file).catch(noneIfAbsent); // between two files there may be none
    const old = this.#open;
    if (!now || !old || (now.ino === old.inode && now.size >= old.position)) return;
    await this.close();
    await this.#readRest(take);
  }

  async close(): Promise<void> {
    const old = this.#open;
    this.#open = undefined;
    await old?.handle.close();
  }

  async #readRest(take: (text: string) => void): Promise<void> {
    if (!this.#open) {
      const handle = await open(this.file);
      this.#open = { handle, inode: (await handle.stat()).ino, position: 0 };
    }
    for (;;) {
      const { handle, position } = this.#open;
      const { bytesRead } = await handle.read(this.#buffer, 0, CHUNK_BYTES, position);
      if (bytesRead === 0) return;
      this.#open.position += bytesRead;
      take(this.#decoder.decode(this.#buffer.subarray(0, bytesRead), { stream: true }));
    }
  }
}

function noneIfAbsent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
