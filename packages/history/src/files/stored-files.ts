import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createGunzip } from 'node:zlib';

const NAME = /^(\d+)-([0-9a-f]+)\.jsonl(\.gz)?$/;
const CHUNK_BYTES = 256 * 1024;
const NEW_LINE = 10;

/** One file of a history. */
export interface HistoryFile {
  readonly path: string;
  readonly isCompressed: boolean;
  /** Id of the process that wrote it. */
  readonly run: string;
  /** Times in its lines are relative to this time. */
  readonly beganMs: number;
  readonly modifiedMs: number;
  readonly bytes: number;
}

/** Lists the history files in a directory, oldest first, each once. A missing directory has none. */
export async function listHistoryFiles(directory: string): Promise<HistoryFile[]> {
  const all = new Set(await readdir(directory).catch(ifMissing));
  // a process killed right after compressing a file leaves both forms
  const names = [...all].filter((name) => !name.endsWith('.gz') || !all.has(name.slice(0, -'.gz'.length)));
  const files = await Promise.all(
    names.map(async (name) => {
      const [, began, run, end] = NAME.exec(name) ?? [];
      if (began === undefined || run === undefined) return undefined;
      const path = join(directory, name);
      const found = await stat(path).catch((error: unknown) => void ifMissing(error)); // deleted meanwhile
      if (!found) return undefined;
      const { size: bytes, mtimeMs: modifiedMs } = found;
      return { path, isCompressed: end !== undefined, run, beganMs: Number(began), modifiedMs, bytes };
    }),
  );
  return files.filter((file) => file !== undefined).sort((a, b) => a.beganMs - b.beganMs || (a.path < b.path ? -1 : 1));
}

/** Yields the content in blocks of whole lines, and nothing if the file was deleted meanwhile. */
export async function* readHistoryFile(file: HistoryFile): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of open(file)) {
      const text = Buffer.concat([rest, chunk]);
      const end = text.lastIndexOf(NEW_LINE) + 1;
      rest = text.subarray(end);
      if (end > 0) yield text.subarray(0, end);
    }
  } catch (error) {
    ifMissing(error);
    // compressed or deleted meanwhile
    if (!file.isCompressed) yield* readHistoryFile({ ...file, path: `${file.path}.gz`, isCompressed: true });
  }
}

/** Called for each file that cannot be decompressed. */
export type OnDamage = (file: HistoryFile, error: unknown) => void;

/** Like {@link readHistoryFile}, but ends at the first damaged block instead of throwing, so that other files are still read. */
export async function* readUndamaged(file: HistoryFile, onDamage: OnDamage): AsyncGenerator<Buffer> {
  try {
    yield* readHistoryFile(file);
  } catch (error) {
    if (!String((error as NodeJS.ErrnoException).code).startsWith('Z_')) throw error;
    onDamage(file, error);
  }
}

async function* open({ path, isCompressed }: HistoryFile): AsyncGenerator<Buffer> {
  const input = createReadStream(path, { highWaterMark: CHUNK_BYTES });
  if (!isCompressed) {
    yield* input as AsyncIterable<Buffer>;
    return;
  }
  const unpacked = createGunzip({ chunkSize: CHUNK_BYTES });
  input.on('error', (error) => unpacked.destroy(error)).pipe(unpacked);
  yield* unpacked as AsyncIterable<Buffer>;
}

function ifMissing(error: unknown): string[] {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
  throw error;
}
