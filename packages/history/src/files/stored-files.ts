import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createGunzip } from 'node:zlib';

const NAME = /^(\d+)-([0-9a-f]+)\.jsonl(\.gz)?$/;
const CHUNK_BYTES = 256 * 1024;
const NEW_LINE = 10;

/** A part of a history. */
export interface HistoryFile {
  readonly path: string;
  readonly isCompressed: boolean;
  /** The process that wrote it. */
  readonly run: string;
  /** Times in it are told from here on. */
  readonly beganMs: number;
  /** When it was written last. */
  readonly modifiedMs: number;
  readonly bytes: number;
}

/** The parts in a folder, the oldest first, each once. A folder that is not there has none. */
export async function listHistoryFiles(directory: string): Promise<HistoryFile[]> {
  const all = new Set(await readdir(directory).catch(ifMissing));
  // who is killed after compressing a part leaves it in both forms
  const names = [...all].filter((name) => !name.endsWith('.gz') || !all.has(name.slice(0, -'.gz'.length)));
  const files = await Promise.all(
    names.map(async (name) => {
      const [, began, run, end] = NAME.exec(name) ?? [];
      if (began === undefined || run === undefined) return undefined;
      const path = join(directory, name);
      const found = await stat(path).catch((error: unknown) => void ifMissing(error)); // it has been deleted meanwhile
      if (!found) return undefined;
      const { size: bytes, mtimeMs: modifiedMs } = found;
      return { path, isCompressed: end !== undefined, run, beganMs: Number(began), modifiedMs, bytes };
    }),
  );
  return files.filter((file) => file !== undefined).sort((a, b) => a.beganMs - b.beganMs || (a.path < b.path ? -1 : 1));
}

/** The content in pieces of whole lines, so that nothing else has to wait; nothing where it has been deleted meanwhile. */
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
    // it has been compressed meanwhile, or was too old
    if (!file.isCompressed) yield* readHistoryFile({ ...file, path: `${file.path}.gz`, isCompressed: true });
  }
}

/** Told of a part that cannot be unpacked. */
export type OnDamage = (file: HistoryFile, error: unknown) => void;

/** As {@link readHistoryFile}, without what comes after a damage: the other parts are worth reading. */
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
