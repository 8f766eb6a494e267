import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';

/** Checksums of an image file in hexadecimal digits. A missing one was not written by the build tool. */
export interface Checksums {
  readonly md5: string | undefined;
  readonly sha256: string | undefined;
}

const LENGTHS = { md5: 32, sha256: 64 } as const;

/** Reads `<file>.md5` and `<file>.sha256` as written by the build tool: digits, then file name. */
export async function readChecksums(file: string): Promise<Checksums> {
  const [md5, sha256] = await Promise.all([readOne(file, 'md5'), readOne(file, 'sha256')]);
  return { md5, sha256 };
}

async function readOne(file: string, kind: keyof typeof LENGTHS): Promise<string | undefined> {
  try {
    const digits = (await readFile(`${file}.${kind}`, 'utf8')).slice(0, LENGTHS[kind]);
    return new RegExp(`^[0-9a-f]{${LENGTHS[kind]}}$`).test(digits) ? digits : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Computes both checksums in one pass over the file. */
export async function computeChecksums(file: string, signal: AbortSignal): Promise<Required<Checksums>> {
  const [md5, sha256] = [createHash('md5'), createHash('sha256')];
  await pipeline(
    createReadStream(file, { signal, highWaterMark: 1024 * 1024 }),
    async (chunks: AsyncIterable<Buffer>) => {
      for await (const chunk of chunks) {
        md5.update(chunk);
        sha256.update(chunk);
      }
    },
  );
  return { md5: md5.digest('hex'), sha256: sha256.digest('hex') };
}
